class _BaseDataLoaderIter:
    def __init__(self, data):
        self.data = iter(data)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.data)


class DataLoader:
    def __init__(self, data):
        self.data = data

    def __iter__(self):
        return _BaseDataLoaderIter(self.data)
