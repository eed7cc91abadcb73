import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Variable

# Hyper Parameters
TIME_STEP = 10
INPUT_SIZE = 1
LR = 0.02


def sliding_windows(data, seq_length):
    x, y = [], []
    for i in range(len(data) - seq_length - 1):
        x.append(data[i:i + seq_length])
        y.append(data[i + seq_length])
    return np.array(x), np.array(y)


class LSTM(nn.Module):
    def __init__(self, num_classes, input_size, hidden_size, num_layers):
        super(LSTM, self).__init__()
        self.num_layers = num_layers
        self.hidden_size = hidden_size
        self.lstm = nn.LSTM(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers, batch_first=True)
        self.fc = nn.Linear(hidden_size, num_classes)

    def forward(self, x):
        h_0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        c_0 = torch.zeros(self.num_layers, x.size(0), self.hidden_size)
        ula, (h_out, _) = self.lstm(x, (h_0, c_0))
        h_out = h_out[-1].view(-1, self.hidden_size)
        return self.fc(h_out)


class StatefulRNN(nn.Module):
    def __init__(self):
        super(StatefulRNN, self).__init__()
        self.rnn = nn.RNN(input_size=INPUT_SIZE, hidden_size=16, num_layers=1, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x, h_state):
        r_out, h_state = self.rnn(x, h_state)
        outs = []
        for time_step in range(r_out.size(1)):
            outs.append(self.out(r_out[:, time_step, :]))
        return torch.stack(outs, dim=1), h_state


torch.manual_seed(1)
series = (np.sin(np.arange(80) / 5.0) + 0.05 * np.random.RandomState(0).randn(80)).reshape(-1, 1)
x, y = sliding_windows(series, 4)
train_size = int(len(y) * 0.67)
trainX = torch.Tensor(x[:train_size])
trainY = torch.Tensor(y[:train_size])
lstm = LSTM(1, 1, 8, 1)
criterion = torch.nn.MSELoss()
optimizer = torch.optim.Adam(lstm.parameters(), lr=0.01)
for epoch in range(6):
    outputs = lstm(trainX)
    optimizer.zero_grad()
    loss = criterion(outputs, trainY)
    loss.backward()
    optimizer.step()
    if epoch % 3 == 0:
        print("Epoch: %d, loss: %1.5f" % (epoch, loss.item()))
lstm.eval()
data_predict = lstm(torch.Tensor(x)).data.numpy()
print('forecast error', float(np.abs(data_predict - y).mean()))

# the second part keeps its state over the whole curve
rnn = StatefulRNN()
optimizer = torch.optim.Adam(rnn.parameters(), lr=LR)
loss_func = nn.MSELoss()
h_state = None
curve = []
for step in range(8):
    start, end = step * np.pi, (step + 1) * np.pi
    steps = np.linspace(start, end, TIME_STEP, dtype=np.float32)
    x_in = torch.from_numpy(np.sin(steps)[np.newaxis, :, np.newaxis])
    y_out = torch.from_numpy(np.cos(steps)[np.newaxis, :, np.newaxis])
    prediction, h_state = rnn(x_in, h_state)
    h_state = h_state.data  # repack the hidden state, break the connection from last iteration
    loss = loss_func(prediction, y_out)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    curve.append(loss.data.item())
print(curve[0], curve[-1], Variable(h_state).abs().max().item())
