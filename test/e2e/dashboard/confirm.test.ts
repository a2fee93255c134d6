import type { WebSocketRoute } from 'playwright-core'
import t from 'tap'
import { openDashboard } from '../../fixtures/dashboard.ts'

t.setTimeout(120_000)

t.test(
  'what was confirmed goes on when its dialog is closed, and says when it fails',
  async (t) => {
    const opened = await openDashboard(t)
    if (opened === undefined) return
    const { context, server } = opened
    const { status } = await server.post('/config/set', { path: 'shop', value: { data: '1' } })
    t.equal(status, 200)
    const page = await context.newPage()
    const sockets: WebSocketRoute[] = []
    let isHeld = false
    await page.routeWebSocket('**/.mx/rpc', (socket) => {
      const answers = socket.connectToServer()
      answers.onMessage((message) => {
        if (!isHeld) socket.send(message)
      })
      sockets.push(socket)
    })
    await page.goto('/config?path=shop')
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Delete' }).click()
    isHeld = true
    await dialog.getByRole('button', { name: 'Delete' }).click()
    const close = dialog.getByRole('button', { name: 'Close' })
    await close.waitFor()
    t.equal(await dialog.getByRole('button', { name: 'Cancel' }).count(), 0)
    await close.click()
    await dialog.waitFor({ state: 'detached' })
    isHeld = false
    await sockets.at(-1)!.close()
    await page.getByText('Delete shop? It failed: the connection was lost').waitFor()
  },
)
