// Load time of the dashboard: `npm run bench dashboard [-- runs]`. A logged-in browser on the same machine, first with
// a cold cache, then with a warm one.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { FIRST_LOAD_MAX_BYTES, listFirstLoad } from './dashboard/first-load.ts'
import { readOrigin, writeResult } from './http/results.ts'
import { findPort, startProgram } from './http/servers/processes.ts'
import { waitUntilReady } from './http/servers/ready.ts'
import { guardGoals } from './report/goals.ts'
import { ROOT } from './rivals/rival.ts'

/** Timings of one page load, in milliseconds since the navigation. */
interface Load {
  readonly firstPaintMs: number
  /** Time when heading and menu are rendered. */
  readonly usableMs: number
  readonly requests: number
  readonly kilobytes: number
}

const [runs = 9] = process.argv.slice(2).map(Number)
const USABLE_MS = 300
/** Records when the page becomes usable. Runs in the page, because polling from outside would add a round trip. */
const WATCH = `
  new MutationObserver((_, observer) => {
    if (document.querySelector('nav') === null || document.querySelector('main h1') === null) return
    observer.disconnect()
    performance.mark('usable')
  }).observe(document, { childList: true, subtree: true })`
const READ = `(async () => {
  const find = (name) => performance.getEntriesByName(name)[0]
  while (!find('usable') || !find('first-contentful-paint')) await new Promise(requestAnimationFrame)
  const all = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  return {
    firstPaintMs: find('first-contentful-paint').startTime,
    usableMs: find('usable').startTime,
    requests: all.length,
    kilobytes: all.reduce((sum, { transferSize }) => sum + transferSize, 0) / 1024,
  }
})()`

async function load(context: BrowserContext, url: string): Promise<Load> {
  const page = await context.newPage()
  try {
    await page.addInitScript(WATCH)
    await page.goto(url)
    return (await page.evaluate(READ)) as Load
  } finally {
    await page.close()
  }
}

async function measure(browser: Browser, url: string): Promise<readonly [Load, Load]> {
  const context = await browser.newContext()
  try {
    const data = { id: 'admin', secret: 'mx' }
    const reply = await context.request.post(`${url}/login`, { data, headers: { origin: url } })
    if (!reply.ok()) throw new Error(`logging in: ${await reply.text()}`)
    return [await load(context, url), await load(context, url)]
  } finally {
    await context.close()
  }
}

function toRow(label: string, loads: readonly Load[]) {
  const median = (read: (load: Load) => number): number =>
    loads.map(read).sort((a, b) => a - b)[Math.floor(loads.length / 2)]!
  return {
    label: label,
    firstPaintMs: Math.round(median(({ firstPaintMs }) => firstPaintMs)),
    usableMs: Math.round(median(({ usableMs }) => usableMs)),
    slowestMs: Math.round(Math.max(...loads.map(({ usableMs }) => usableMs))),
    requests: median(({ requests }) => requests),
    kilobytes: Math.round(median(({ kilobytes }) => kilobytes) * 10) / 10,
  }
}

const executablePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium-headless-shell'))
  .find((file) => existsSync(file))
if (executablePath === undefined) throw new Error('chromium-headless-shell is not installed')
const home = mkdtempSync(join(tmpdir(), 'mx-bench-dashboard-'))
const [gateway, proxy, web] = [await findPort(), await findPort(), await findPort()]
const server = startProgram(
  [
    ...[process.execPath, join(ROOT, 'dist/cli/main.js'), 'server', '--profile=test'],
    ...[`--address=127.0.0.1:${gateway}`, `--proxy_address=127.0.0.1:${proxy}`],
    ...[`--web_address=127.0.0.1:${web}`, '--runtime=none', `--data_dir=${join(home, 'server')}`],
  ],
  [],
)
try {
  await waitUntilReady(server, `http://127.0.0.1:${gateway}/auth/keys`)
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  })
  try {
    const url = `http://127.0.0.1:${web}`
    await measure(browser, url)
    const loads: (readonly [Load, Load])[] = []
    for (let run = 0; run < runs; run++) loads.push(await measure(browser, url))
    const rows = [
      toRow(
        'cold cache',
        loads.map(([first]) => first),
      ),
      toRow(
        'warm cache',
        loads.map(([, second]) => second),
      ),
    ]
    const files = listFirstLoad(join(ROOT, 'dist/dashboard'))
    const firstLoadBytes = files.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0)
    const table = [
      '| load | first paint, ms | usable, ms | max, ms | requests | KiB transferred |',
      '|---|--:|--:|--:|--:|--:|',
      ...rows.map(
        ({ label, firstPaintMs, usableMs, slowestMs, requests, kilobytes }) =>
          `| ${label} | ${firstPaintMs} | ${usableMs} | ${slowestMs} | ${requests} | ${kilobytes} |`,
      ),
      '',
      `Size of the first load, gzip: ${firstLoadBytes} bytes, limit ${FIRST_LOAD_MAX_BYTES}.`,
      '',
    ].join('\n')
    const title = 'Load time of the dashboard'
    const path = writeResult(
      'dashboard',
      title,
      readOrigin('npm run bench dashboard --', 'none'),
      { runs, rows, files },
      table,
    )
    process.stdout.write(`\n## ${title}\n\n${table}\nWritten to ${path}.md and .json\n`)
    guardGoals([
      { label: 'first load, bytes', value: firstLoadBytes, atMost: FIRST_LOAD_MAX_BYTES },
      { label: 'usable, ms', value: rows[0]!.usableMs, atMost: USABLE_MS },
    ])
  } finally {
    await browser.close()
  }
} finally {
  await server.stop()
  rmSync(home, { recursive: true, force: true })
}
