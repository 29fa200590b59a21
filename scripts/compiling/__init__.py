"""Programs that scripts/compile_check compiles, and the page of their results."""
