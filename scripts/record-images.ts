/**
 * Records `docs/images/terminal.svg` and `docs/images/dashboard.png` from a real server: `npm run build`, then
 * `tsx scripts/record-images.ts`. Requires `script` (util-linux), curl and chromium-headless-shell.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { ROOT } from './root.ts'
import { renderTerminal, type TerminalStep } from './terminal-svg.ts'

const IMAGES = join(ROOT, 'docs/images')
const MX = join(ROOT, 'dist/cli/bundle/mx.js')
const COMMANDS = [
  'mx run ./helloworld',
  'mx helloworld call --name=Ann',
  "curl '127.0.0.1:8080/helloworld/stream?name=Ann&count=2'",
  'mx status',
]
const PORTS = ['8080', '8081', '8082', '8089']

const home = mkdtempSync(join(tmpdir(), 'mx'))
/** Same length as the real folder path, so that columns stay aligned. */
const SHOWN_HOME = '/home/ann/dev'.padEnd(home.length, '-')
cpSync(join(ROOT, 'examples/helloworld'), join(home, 'helloworld'), { recursive: true })
const { CI: _, NO_COLOR: __, ...inherited } = process.env
const env: Record<string, string | undefined> = {
  ...inherited,
  HOME: home,
  TERM: 'xterm-256color',
  MX_ADDRESS: '127.0.0.1:0',
  MX_PROXY_ADDRESS: '127.0.0.1:0',
  MX_WEB_ADDRESS: '127.0.0.1:0',
  MX_ADMIN_ADDRESS: '127.0.0.1:0',
}

/** Starts a command line in a terminal. */
function startAtTerminal(line: string) {
  const command = `stty cols 100; ${line.replaceAll(/\bmx (?=[a-z])/g, `'${process.execPath}' '${MX}' `)}`
  return spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: home,
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

async function run(line: string): Promise<TerminalStep> {
  const startMs = performance.now()
  const child = startAtTerminal(line)
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${line}: ${output}`)
  return { line, output, elapsedMs: performance.now() - startMs }
}

const server = startAtTerminal('mx server')
try {
  let banner = ''
  server.stdout.on('data', (chunk) => {
    banner += chunk
  })
  const startMs = performance.now()
  while (!banner.includes('try it')) await sleep(20)
  const elapsedMs = performance.now() - startMs
  const plain = banner.replaceAll(/\x1b\[[\d;]*m/g, '')
  const used = ['gateway', 'rpc proxy', 'dashboard', 'admin'].map(
    (name) => new RegExp(`${name} +(?:http://)?127\\.0\\.0\\.1:(\\d+)`).exec(plain)![1]!,
  )
  env['MX_ENV_LOCAL_ADDRESS'] = `127.0.0.1:${used[1]}`
  const password = /password +(\S+)/.exec(plain)![1]!
  /** Replaces ports and home folder of this run with the usual ones. */
  const toStablePaths = (text: string) =>
    used
      .reduce((result, port, i) => result.replaceAll(`:${port}`, `:${PORTS[i]}`), text)
      .replaceAll(`mx env add local 127.0.0.1:${PORTS[1]} && `, '')
      // Matches columns truncated within the port.
      .replaceAll(/(127\.0\.0\.1:)\d+…/g, `$1${PORTS[0]}…`)
      .replaceAll(home, SHOWN_HOME)
  await run(`mx login admin --password=${password}`)

  // Log lines may precede the banner.
  const output = banner.slice(banner.search(/^ *mx \d/m))
  const steps: TerminalStep[] = [{ line: 'mx server &', output, elapsedMs }]
  for (const line of COMMANDS) {
    const { output, elapsedMs } = await run(line.replace(':8080', `:${used[0]}`))
    steps.push({ line, output, elapsedMs })
  }
  const normalized = steps.map((step) => ({ ...step, output: toStablePaths(step.output) }))
  writeFileSync(join(IMAGES, 'terminal.svg'), renderTerminal(normalized))

  const browser = await chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox'],
  })
  const page = await browser.newPage({
    viewport: { width: 1200, height: 800 },
    colorScheme: 'light',
  })
  const url = `http://127.0.0.1:${used[2]}`
  const data = { id: 'admin', secret: password }
  await page.context().request.post(`${url}/login`, { data, headers: { origin: url } })
  await page.goto(url)
  const traffic = setInterval(() => {
    for (let i = 0; i < 5 + 20 * Math.random(); i++)
      void fetch(
        `http://127.0.0.1:${used[0]}/helloworld/${Math.random() < 0.98 ? 'call?name=Ann' : 'none'}`,
      )
  }, 100)
  await sleep(75_000)
  clearInterval(traffic)
  await page.screenshot({ path: join(IMAGES, 'dashboard.png') })
  await browser.close()
} finally {
  server.stdin.write('\x03')
  await once(server, 'close')
  rmSync(home, { recursive: true, force: true })
}
