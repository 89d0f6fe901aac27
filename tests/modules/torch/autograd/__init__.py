def backward(tensors):
    return None
