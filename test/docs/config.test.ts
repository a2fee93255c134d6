import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { toConfigValue } from '../../sdk/config/config-value.ts'
import { createConfig, Type } from '../../sdk/index.ts'
import { MAX_DEPTH, MAX_PATH_BYTES } from '../../services/config/tree/path.ts'
import { openPlatformConfig } from '../fixtures/platform-config.ts'
import { openRegistry } from '../fixtures/sdk-services.ts'

const GUIDE = readFileSync(join(ROOT, 'docs/config.md'), 'utf8')

/** First cells of the table below a heading. */
function firstCells(header: string): string[] {
  const table = GUIDE.slice(GUIDE.indexOf(header)).split('\n\n')[0]!.split('\n').slice(2)
  return table.map((row) =>
    row
      .split('|')[1]!
      .replace(/ \(stream\)/, '')
      .trim(),
  )
}

t.test('docs/config.md lists every endpoint and every accessor', async (t) => {
  const registry = openRegistry(t)
  await openPlatformConfig(t, { registry })
  const [service] = await registry.getService('config')
  t.strictSame(
    firstCells('| endpoint | request |'),
    service!.endpoints.map(({ name }) => `\`${name.slice('Config.'.length).toLowerCase()}\``),
  )
  const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(toConfigValue({ path: '' })))
  const reservedNames = ['constructor', 'exists', 'scan']
  t.strictSame(
    firstCells('| accessor |').sort(),
    methods
      .filter((name) => !reservedNames.includes(name))
      .map((name) => `\`${name}()\``)
      .sort(),
  )
})

t.test('the code blocks of docs/config.md return the documented values', async (t) => {
  const { client } = await openPlatformConfig(t)
  const config = createConfig(client)
  const blocks = [...GUIDE.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!)
  const [first, scan, watch, history] = blocks.map((code) =>
    code.replace(/^import .*\n/m, '').replace(/^const config = .*\n/m, ''),
  )
  const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as FunctionConstructor
  const run = (code: string, names: readonly string[]) =>
    new AsyncFunction('config', 'client', 'Type', 'reconnect', `${code}; return { ${names} }`)(
      config,
      client,
      Type,
      (json: unknown) => {
        printed = json
      },
    ) as Promise<Record<string, unknown>>
  let printed: unknown
  const withoutDelete = first!.replace(/^await config\.delete.*$/m, '')
  t.strictSame(await run(withoutDelete, ['greeting', 'max', 'password']), {
    greeting: 'Hello',
    max: 10,
    password: 'hunter2',
  })
  t.match(await run(scan!, ['host', 'pool']), { host: 'localhost', pool: { max: 10 } })
  await run(watch!.trim().replace(/ reconnect\(.*\)$/, ' { $&; break }'), [])
  t.match(printed, { host: 'localhost', password: '[secret]' })
  await t.rejects(run(history!, []), {
    message: /^not found: version 12 of mx; stored versions: 1 to 3$/,
  })
  await run(first!, [])
  t.notOk((await config.get('helloworld.db')).exists())
})

t.test('docs/config.md states the limits of paths', async (t) => {
  t.match(
    GUIDE.replaceAll(/\s+/g, ' '),
    `Paths are at most ${MAX_PATH_BYTES} bytes and ${MAX_DEPTH} names long`,
  )
})
