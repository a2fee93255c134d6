import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import t from 'tap'
import { createServer } from 'vite'
import { openApi } from '../fixtures/api.ts'
import { CHROMIUM_FLAGS } from '../fixtures/chromium.ts'
import { skipUnless } from '../fixtures/servers.ts'

const PAGE = `<!doctype html>
<html lang="en">
  <head><title>app</title></head>
  <body>
    <h1 id="greeting">not loaded</h1>
    <script type="module" src="/src/main.js"></script>
  </body>
</html>
`

const MAIN = `import { greeting } from './greeting.js'
import './style.css'

const show = (text) => {
  document.querySelector('#greeting').textContent = text
}
show(greeting)
window.loads = (window.loads ?? 0) + 1
import.meta.hot.accept('./greeting.js', (module) => show(module.greeting))
`

const greetingFile = (text: string): string => `export const greeting = ${JSON.stringify(text)}\n`

t.test('hot-reloads a page of a Vite dev server through mx api --handler=web', async (t) => {
  const program = skipUnless(t, 'chromium-headless-shell')
  if (program === undefined) return
  const root = await mkdtemp(join(tmpdir(), 'mx-vite-'))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  const write = (file: string, text: string): Promise<void> => writeFile(join(root, file), text)
  await write('index.html', PAGE.replace('/src/', './'))
  await write('main.js', MAIN)
  await write('greeting.js', greetingFile('first'))
  await write('style.css', 'h1 { color: rgb(255, 0, 0) }\n')

  const vite = await createServer({
    configFile: false,
    root,
    base: '/app/',
    cacheDir: join(root, '.vite'),
    logLevel: 'error',
    server: { host: '127.0.0.1', port: 0 },
    optimizeDeps: { noDiscovery: true },
  })
  await vite.listen()
  t.teardown(() => vite.close())
  const { port } = vite.httpServer!.address() as { port: number }
  const api = await openApi(t, { MX_HANDLER: 'web', MX_BACKEND: `app=127.0.0.1:${port}` })

  const browser = await chromium.launch({ executablePath: program, args: [...CHROMIUM_FLAGS] })
  t.teardown(() => browser.close())
  const page = await browser.newPage()
  page.setDefaultTimeout(20_000)
  const sockets: string[] = []
  page.on('websocket', (socket) => sockets.push(socket.url()))
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  const connected = page.waitForEvent('console', (message) => message.text().includes('connected.'))

  const [reply] = await Promise.all([page.goto(`http://127.0.0.1:${api.port}/app/`), connected])
  t.equal(reply?.status(), 200)
  await page.waitForSelector('#greeting >> text=first')
  t.equal(sockets.length, 1)
  t.match(sockets[0], `ws://127.0.0.1:${api.port}/app/`, 'the WebSocket goes through the gateway')

  await write('greeting.js', greetingFile('second, typed while you watch ✓'))
  await page.waitForSelector('#greeting >> text=second, typed while you watch ✓')
  await write('style.css', 'h1 { color: rgb(0, 128, 0) }\n')
  await page.waitForFunction(
    `getComputedStyle(document.querySelector('#greeting')).color === 'rgb(0, 128, 0)'`,
  )
  t.equal(await page.evaluate('window.loads'), 1, 'the page was not reloaded')
  t.strictSame(errors, [])
  t.equal(sockets.length, 1, 'over one WebSocket')
})
