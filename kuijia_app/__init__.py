"""Switch tables of a Plan, and the controller application that installs and keeps them."""
