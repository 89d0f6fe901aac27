from .modules import Module, ModuleList, Sequential, Linear
