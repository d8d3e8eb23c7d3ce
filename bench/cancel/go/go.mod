module cancel

go 1.23
