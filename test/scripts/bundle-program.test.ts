import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import * as registry from '../../platform/registry.ts'
import { bundleProgram } from '../../scripts/bundle-program.ts'
import { bundleSchema } from '../../scripts/bundle-schema.ts'
import { ROOT } from '../../scripts/root.ts'
import * as sdk from '../../sdk/index.ts'
import * as testing from '../../sdk/testing.ts'

// Located in the checkout, so that packages are found, but in a part of the build that is not packed.
const dist = join(ROOT, 'dist/test', `bundle-${process.pid}`)
const load = async <T>(name: string): Promise<T> =>
  (await import(pathToFileURL(join(dist, 'bundle', name)).href)) as T
t.teardown(() => rm(dist, { recursive: true, force: true }))
t.before(async () => {
  await bundleSchema(join(dist, 'core/schema.js'))
  await bundleProgram(dist)
})

function mx(...args: string[]): Promise<{ stdout: string; stderr: string; code?: number }> {
  const env = {
    PATH: process.env['PATH'],
    HOME: t.testdirName,
    MX_ENV_LOCAL_ADDRESS: '127.0.0.1:1',
  }
  return promisify(execFile)(process.execPath, [join(dist, 'cli/bundle/mx.js'), ...args], {
    env,
  }).catch((error) => error)
}

t.test('the bundled program has the output and exit statuses of the sources', async (t) => {
  t.match(await mx('--help'), { stdout: /^mx\/\d.*\n\nService gateway .*\n\nUsage:\n/ })
  t.match(await mx('version'), { stdout: /^mx\/\d/ })
  t.match(await mx('services'), {
    code: 4,
    stderr:
      "mx: Failed to connect to mx server at 127.0.0.1:1: start it with 'mx server', or, if it uses another --proxy_address, run 'mx env add local <host:port>'\n",
  })
})

t.test('the bundled program is executable', async (t) => {
  t.equal((await stat(join(dist, 'cli/bundle/mx.js'))).mode & 0o777, 0o755)
})

t.test(
  'the bundled program starts the gateway and the server, and prints their errors',
  async (t) => {
    const unknown = {
      code: 2,
      stderr: "mx: unknown flag --wokers, did you mean --workers? See 'mx api --help'\n",
    }
    t.match(await mx('api', '--wokers=1'), unknown)
    t.match(await mx('server', '--adress=:1'), {
      code: 2,
      stderr: "mx: unknown flag --adress, did you mean --address? See 'mx server --help'\n",
    })
    t.match(await mx('api', 'check', '--wokers=1'), unknown)
    t.match(await mx('api', '--help'), { stdout: /--workers/ })
  },
)

t.test(
  'bundle entries export the names of their sources, and classes retain their names',
  async (t) => {
    const entries = { 'index.js': sdk, 'testing.js': testing, 'registry.js': registry }
    for (const [name, source] of Object.entries(entries)) {
      const bundle = await load<Record<string, unknown>>(name)
      t.same(Object.keys(bundle).sort(), Object.keys(source).sort(), name)
      for (const [exported, value] of Object.entries(source))
        if (typeof value === 'function' && /^class /.test(String(value)))
          t.equal((bundle[exported] as { name: string }).name, exported)
    }
  },
)

t.test('bundle entries share one copy of each class', async (t) => {
  const { HeaderList, ServiceError, GatewayError } = await load<typeof sdk>('index.js')
  const { createTestExchange } = await load<typeof testing>('testing.js')
  t.ok(createTestExchange().headers instanceof HeaderList)
  const error = new ServiceError('a', 400, 'b')
  t.ok(error instanceof GatewayError)
  t.notOk(error instanceof sdk.GatewayError, 'the sources are a separate copy')
})

t.test('the bundle includes the licences of bundled packages', async (t) => {
  t.ok(existsSync(join(dist, 'bundle/LICENSE-jose.md')))
})
