import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ROOT } from '../../scripts/root.ts'
import { Client, createStore } from '../../sdk/index.ts'
import { openPlatformStore } from '../fixtures/platform-store.ts'
import { createService, openRegistry } from '../fixtures/sdk-services.ts'

const GUIDE = readFileSync(join(ROOT, 'docs/store.md'), 'utf8')
const [first, compare, watch, blobs, ...others] = [...GUIDE.matchAll(/```ts\n([\s\S]*?)```/g)].map(
  ([, code]) => code!.replace(/^import .*\n/m, ''),
)
const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor as FunctionConstructor

/** Runs code of the guide with the variables that it uses. */
function run(code: string, input: object, names = ''): Promise<Record<string, unknown>> {
  const body = `${code}; return { ${names} }`
  return new AsyncFunction(...Object.keys(input), body)(...Object.values(input))
}

t.test('the code blocks of docs/store.md return the documented values', async (t) => {
  const registry = openRegistry(t)
  const { close, store: records } = await openPlatformStore(t, { registry })
  const service = createService(t, { name: 'greeter', registry })
  const client = new Client({ registry })
  t.teardown(() => client.close())
  t.teardown(() => service.client.close())
  t.strictSame(others, [])
  const input = { Client, createStore, service, registry }
  const variables = await run(first!, input, 'store, other, record, users, keys')
  t.strictSame((variables['record'] as { json(): object }).json(), { name: 'Ann' })
  t.match(variables, { users: [{ key: 'user/1' }], keys: ['user/1'] })

  const store = createStore(service)
  await store.write('counter', 1)
  await run(compare!, { store })
  t.equal((await store.read('counter'))[0]!.json(), 2)
  const [, second] = compare!.trim().split('\n')
  const [counter] = await store.read('counter')
  await store.write('counter', 7)
  await t.rejects(run(second!, { store, counter }), { code: 409 })

  const events: unknown[] = []
  const watching = run(watch!, {
    store,
    console: { log: (...args: unknown[]) => events.push(args) },
  })
  const ended = t.rejects(watching, { code: 503 })
  while (events.length === 0) await store.write('user/2', 'Bob'.length)
  t.strictSame(events[0], ['write', 'user/2', 3])

  const parts: Buffer[] = []
  const take = (blob: string) => parts.push(Buffer.from(blob, 'base64'))
  const base64 = Buffer.from('of an image').toString('base64')
  await run(blobs!, { client, base64, take })
  t.equal(Buffer.concat(parts).toString(), 'of an image')
  t.ok((await records.listTables()).length >= 2)
  await close()
  await ended
})

t.test('the HTTP requests of docs/store.md return the documented records', async (t) => {
  const { client } = await openPlatformStore(t)
  const shell = [...GUIDE.matchAll(/```sh\n([\s\S]*?)```/g)]
    .map(([, code]) => code!)
    .find((code) => code.includes('curl'))
  const body = /-d '(.*)'/.exec(shell!)![1]!
  t.match(await client.call('store', 'Store.Write', JSON.parse(body)), { version: 1 })
  for (const [, query] of shell!.matchAll(/\/store\/read\?([^']*)'/g)) {
    const request: { key?: string; options: Record<string, string> } = { options: {} }
    for (const [name, value] of new URLSearchParams(query))
      if (name === 'key') request.key = value
      else request.options[name.replace('options.', '')] = value
    t.match(await client.call('store', 'Store.Read', request), { records: [{ key: 'user/1' }] })
  }
})
