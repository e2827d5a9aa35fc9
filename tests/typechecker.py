from beartype import BeartypeConf, beartype

# An int is welcome wherever a float is.
check = beartype(conf=BeartypeConf(is_pep484_tower=True))
