"""One answer under a guard: the loop, the drivers that run it, the writer's side and the judge's side."""
