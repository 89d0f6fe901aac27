class _BaseDataLoaderIter:
    def __init__(self, data):
        self.data = iter(data)

    def __iter__(self):
        return self

    def _next_index(self):
        return next(self.data)

    def __next__(self):
        return self._next_index()


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Workers are asked ahead: it knows when there is nothing more to come."""

    def __init__(self, data):
        self.all, self._rcvd_idx = list(data), 0
        self._send_idx = len(self.all)

    def __next__(self):
        return super().__next__()

    def _next_index(self):
        if self._rcvd_idx == self._send_idx:
            raise StopIteration
        self._rcvd_idx += 1
        return self.all[self._rcvd_idx - 1]


class DataLoader:
    def __init__(self, data, num_workers=0):
        self.data, self.num_workers = data, num_workers

    def __iter__(self):
        return (_MultiProcessingDataLoaderIter if self.num_workers else _BaseDataLoaderIter)(self.data)
