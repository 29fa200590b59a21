"""What scripts/compile_check compiles, and the page of what came out."""
