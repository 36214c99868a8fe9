"""The paper's evaluation on the Gscale network (section 5): its cases, on switches or in the model, and its figures."""
