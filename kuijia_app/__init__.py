"""From a Plan to switch tables, and the controller application that installs and keeps them."""
