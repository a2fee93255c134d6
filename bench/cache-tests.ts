// HTTP cache tests (https://cache-tests.fyi) against the gateway with the plugin cache, beside the results that the
// package contains for other caches: `npm run bench cache-tests -- <folder of the package> [id of a test] [listener]`.
// The folder is an unpacked http-cache-tests 0.4.5 in which node-fetch 2 is installed.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { configurationFrom } from '../platform/config/load.ts'
import { startGatewayServer } from '../platform/gateway/gateway-server.ts'
import { createLog } from '../platform/process/log.ts'

type Result = true | readonly [kind: string, detail: string]
type Results = Readonly<Record<string, Result>>

interface Test {
  readonly id: string
  readonly kind?: 'required' | 'optimal' | 'check'
  readonly browser_only?: boolean
}

interface Suite {
  readonly tests: readonly Test[]
}

const CACHES = ['nginx', 'varnish', 'squid', 'trafficserver', 'apache', 'fastly']
const KINDS = ['required', 'optimal', 'check'] as const

const [folder, only = '', listener = 'uws'] = process.argv.slice(2)
if (folder === undefined) throw new Error('expected the folder of the package http-cache-tests')
const root = resolve(folder)

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Runs a script of the package, which reads its options like an npm script. */
function runScript(script: string, options: Readonly<Record<string, string>>) {
  const env = { ...process.env }
  for (const [name, value] of Object.entries(options)) env[`npm_package_config_${name}`] = value
  const path = join(root, script)
  return spawn(process.execPath, ['--no-warnings', path], {
    ...{ cwd: root, env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

async function runTests(): Promise<string> {
  const temp = mkdtempSync(join(tmpdir(), 'mx-cache-tests-'))
  const port = await findPort()
  const origin = runScript('server/server.mjs', {
    ...{ protocol: 'http', port: String(port), pidfile: join(temp, 'pid') },
  })
  try {
    await once(origin.stdout, 'data')
    origin.stdout.resume()
    const file = join(temp, 'mx.yaml')
    writeFileSync(
      file,
      `services: { origin: { nodes: ['localhost:${port}'] } }
routes: [{ match: { path: '/**' }, service: origin }]
plugins: [cache: { stale_if_error: 1h, store_cookies: true }]
`,
    )
    const variables = {
      ...{ MX_ADDRESS: '127.0.0.1:0', MX_LOG_LEVEL: 'error', MX_CONFIG: file },
      ...{ MX_ACCESS_LOG: 'off', MX_HANDLER: 'proxy', MX_LISTENER: listener },
    }
    const configuration = await configurationFrom(new Map(), variables)()
    const gateway = await startGatewayServer({ configuration, log: createLog('error') })
    try {
      const base = `http://127.0.0.1:${gateway.port}`
      const client = runScript('cli.mjs', { base, id: only })
      return await text(client.stdout)
    } finally {
      await gateway.close()
    }
  } finally {
    origin.kill()
    rmSync(temp, { recursive: true })
  }
}

async function listTests(): Promise<readonly Test[]> {
  const load = async (path: string) =>
    (await import(join(root, 'tests', path))) as { readonly default: unknown }
  const suites = (await load('index.mjs')).default as readonly Suite[]
  return suites.flatMap(({ tests }) => tests).filter(({ browser_only }) => browser_only !== true)
}

const output = await runTests()
if (only !== '') console.log(output)
else {
  const results = JSON.parse(output.slice(output.indexOf('{'))) as Results
  const tests = await listTests()
  const all = new Map<string, Results>([['mx', results]])
  for (const name of CACHES)
    all.set(name, JSON.parse(readFileSync(join(root, 'results', `${name}.json`), 'utf8')))
  for (const kind of KINDS) {
    const ids = tests.filter((test) => (test.kind ?? 'required') === kind).map(({ id }) => id)
    const failed = ids.filter((id) => results[id] !== true)
    for (const id of failed) console.log(`${kind} ${id}: ${(results[id] ?? []).toString()}`)
  }
  console.log(`${'cache'.padEnd(16)}${KINDS.map((kind) => kind.padEnd(12)).join('')}total`)
  for (const [name, found] of all) {
    const passed = (kind: string): number =>
      tests.filter(({ id, kind: own = 'required' }) => own === kind && found[id] === true).length
    const counts = KINDS.map(passed)
    const total = counts.reduce((sum, count) => sum + count, 0)
    console.log(
      `${name.padEnd(16)}${counts.map((count) => String(count).padEnd(12)).join('')}${total}`,
    )
  }
  const sizes = KINDS.map(
    (kind) => tests.filter(({ kind: own = 'required' }) => own === kind).length,
  )
  console.log(
    `${'of'.padEnd(16)}${sizes.map((count) => String(count).padEnd(12)).join('')}${tests.length}`,
  )
}
