"""Fine tuning: freeze the backbone, train a new head, then unfreeze the last block."""
import copy
import time

import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torchvision import models

dataloaders = {
    phase: [(torch.randn(4, 3, 8, 8), torch.randint(0, 2, (4,))) for _ in range(n)]
    for phase, n in (("train", 3), ("val", 2))
}
dataset_sizes = {phase: sum(len(y) for _, y in batches) for phase, batches in dataloaders.items()}
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def train_model(model, criterion, optimizer, scheduler, num_epochs=2):
    since = time.time()
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ['train', 'val']:
            if phase == 'train':
                model.train()
            else:
                model.eval()
            running_loss = 0.0
            running_corrects = 0
            for inputs, labels in dataloaders[phase]:
                inputs = inputs.to(device)
                labels = labels.to(device)
                optimizer.zero_grad()
                # track history only if in train
                with torch.set_grad_enabled(phase == 'train'):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == 'train':
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
            if phase == 'train':
                scheduler.step()
            epoch_loss = running_loss / dataset_sizes[phase]
            epoch_acc = running_corrects.double() / dataset_sizes[phase]
            print('{} Loss: {:.4f} Acc: {:.4f}'.format(phase, epoch_loss, epoch_acc))
            if phase == 'val' and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())
    print('Training complete in {:.0f}s, best val Acc: {:4f}'.format(time.time() - since, best_acc))
    model.load_state_dict(best_model_wts)
    return model


torch.manual_seed(0)
model_conv = models.resnet18(weights=models.ResNet18_Weights.DEFAULT)
for param in model_conv.parameters():
    param.requires_grad = False
num_ftrs = model_conv.fc.in_features
model_conv.fc = nn.Linear(num_ftrs, 2)  # new modules have requires_grad=True by default
model_conv = model_conv.to(device)
criterion = nn.CrossEntropyLoss()
optimizer_conv = optim.SGD(model_conv.fc.parameters(), lr=0.01, momentum=0.9)
exp_lr_scheduler = lr_scheduler.StepLR(optimizer_conv, step_size=7, gamma=0.1)
model_conv = train_model(model_conv, criterion, optimizer_conv, exp_lr_scheduler)

for param in model_conv.layer4.parameters():
    param.requires_grad_(True)
optimizer_ft = optim.SGD([
    {'params': model_conv.layer4.parameters(), 'lr': 1e-4},
    {'params': model_conv.fc.parameters()},
], lr=1e-3, momentum=0.9)
model_ft = train_model(model_conv, criterion, optimizer_ft, lr_scheduler.StepLR(optimizer_ft, 7))
