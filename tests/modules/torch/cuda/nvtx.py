def range_push(label):
    return 0


def range_pop():
    return 0
