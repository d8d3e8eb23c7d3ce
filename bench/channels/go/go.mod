module channels

go 1.23
