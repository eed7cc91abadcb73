-- Open train.py with the configuration of the page before this, and print what an editor gets from the server.
local function say(...) io.stdout:write(table.concat({ ... }, " "), "\n") end
vim.cmd("edit train.py")
vim.bo.filetype = "python"
vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 and #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end)
for _, one in ipairs(vim.diagnostic.get(0)) do say("diagnostic", one.lnum + 1, one.code) end
for _, one in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
  say("hint", one.inlay_hint.position.line + 1, one.inlay_hint.label)
end
local client = vim.lsp.get_clients({ name = "gradlint" })[1]
local there = vim.lsp.util.make_text_document_params(0)
local hover = client:request_sync("textDocument/hover", { textDocument = there, position = { line = 3, character = 0 } }, 60000, 0)
say("hover", vim.split(hover.result.contents.value, "\n")[2])
local lenses = client:request_sync("textDocument/codeLens", { textDocument = there }, 60000, 0)
for _, one in ipairs(lenses.result) do say("lens", one.range.start.line + 1, one.command.title) end
vim.api.nvim_win_set_cursor(0, { 5, 0 })
vim.lsp.buf.code_action({ apply = true, filter = function(one) return one.title:match("torch.no_grad") ~= nil end })
vim.wait(60000, function() return vim.bo.modified and #vim.diagnostic.get(0) == 0 end)
say("repaired", vim.api.nvim_buf_get_lines(0, 4, 6, false)[2], #vim.diagnostic.get(0))
vim.cmd("qa!")
