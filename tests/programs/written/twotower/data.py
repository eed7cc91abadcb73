import torch


class Clicks(torch.utils.data.Dataset):
    def __init__(self, users, items, n, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.user = torch.randint(users, (n,), generator=g)
        self.item = (self.user * 3 + torch.randint(2, (n,), generator=g)) % items
        self.price = torch.rand(n, generator=g)

    def __len__(self):
        return len(self.user)

    def __getitem__(self, i):
        return {"user": self.user[i], "item": self.item[i], "price": self.price[i]}


def loaders(users, items, batch_size):
    train, test = Clicks(users, items, 96), Clicks(users, items, 32, seed=1)
    return (
        torch.utils.data.DataLoader(train, batch_size, shuffle=True, drop_last=True),
        torch.utils.data.DataLoader(test, batch_size),
    )
