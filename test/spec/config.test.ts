// Specification: "Config entry", "Library-level operations": config, "Authentication": config secrets.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLmdbStore } from '../../adapters/store/lmdb.ts'
import { createMemoryStore } from '../../adapters/store/memory.ts'
import type { StoreAdapter } from '../../core/contracts/store.ts'
import { createStore } from '../../domain/store/store.ts'
import { createConfig } from '../../sdk/config/config.ts'
import { Type } from '../../sdk/index.ts'
import { openSecretKey } from '../../services/config/secrets/open-secret-key.ts'
import { openApi } from '../fixtures/api.ts'
import { dumpStore, openPlatformConfig } from '../fixtures/platform-config.ts'
import { createService, openRegistry } from '../fixtures/sdk-services.ts'
import { makeTempFolder } from '../fixtures/temp-folder.ts'

const JSON_TYPE = { 'content-type': 'application/json' }

/** The config service, a service that uses it, and a gateway as in server mode, without a namespace. */
async function open(t: Test, adapter: StoreAdapter) {
  const registry = openRegistry(t)
  const { address, store } = await openPlatformConfig(t, { adapter, registry })
  const service = createService(t, { name: 'helloworld', registry })
  t.teardown(() => service.client.close())
  const { port } = await openApi(t, {
    MX_ACCESS_LOG: 'off',
    MX_NAMESPACE: ' ',
    MX_BACKEND: `config=mx://${address}`,
  })
  const origin = `http://127.0.0.1:${port}/config`
  const response = async (reply: Response) => ({
    status: reply.status,
    body: (await reply.json()) as Record<string, unknown>,
  })
  return {
    store,
    origin,
    config: createConfig(service),
    get: async (query: string) => response(await fetch(`${origin}/get?${query}`)),
    post: async (path: string, body: object, headers = {}) =>
      response(
        await fetch(`${origin}/${path}`, {
          method: 'POST',
          headers: { ...JSON_TYPE, ...headers },
          body: JSON.stringify(body),
        }),
      ),
  }
}

const ADAPTERS: Readonly<Record<string, (t: Test) => StoreAdapter>> = {
  memory: () => createMemoryStore(),
  lmdb: (t) => createLmdbStore({ folder: makeTempFolder(t, 'config') }),
}

for (const [name, create] of Object.entries(ADAPTERS)) {
  t.test(
    `${name}: Key-value pairs; keys are paths in dot notation (\`<service>.<key>.<subkey>\`); values are any JSON type, nested values allowed.`,
    async (t) => {
      const { config, get, post } = await open(t, create(t))
      const values = {
        text: 'a <b> & "c"',
        integer: 5,
        number: -1.5,
        yes: true,
        nothing: null,
        list: [1, 'two', { three: [3] }],
        nested: { deep: { deeper: {} } },
      }
      for (const [key, value] of Object.entries(values)) {
        await config.set(`helloworld.${key}.subkey`, value)
        t.strictSame((await config.get(`helloworld.${key}.subkey`)).json(), value, key)
      }
      t.strictSame((await config.get('helloworld.nested')).json(), { subkey: values.nested })
      t.strictSame(await get('path=helloworld.text.subkey'), {
        status: 200,
        body: {
          value: { data: '"a <b> & \\"c\\""', format: 'json' },
          exists: true,
          version: Object.keys(values).length,
        },
      })
      t.match(await post('set', { path: 'helloworld.integer', value: { data: '6' } }), {
        status: 200,
      })
      t.equal((await config.get('helloworld.integer')).int(), 6)
    },
  )

  t.test(
    `${name}: A value can be marked secret at write time. Secrets are stored encrypted; when read without the secret option they appear as the string constant \`[secret]\` (also for numbers and booleans).`,
    async (t) => {
      const { config, get, post, store } = await open(t, create(t))
      await config.set('db.password', 'hunter2', { secret: true })
      await config.set(
        'db',
        { port: 54321, on: true, none: null, list: ['hunter2'] },
        { secret: true },
      )
      await post('set', { path: 'db.url', value: { data: '"hunter2"' }, options: { secret: true } })
      const names = ['password', 'port', 'on', 'none', 'list', 'url']
      for (const name of names) {
        const value = await config.get(`db.${name}`)
        t.equal(value.json(), '[secret]', name)
        t.equal(value.string(), '[secret]')
      }
      t.strictSame(
        (await config.get('db')).json(),
        Object.fromEntries(names.map((name) => [name, '[secret]'])),
      )
      t.match(await get('path=db.port'), { body: { value: { data: '"[secret]"' } } })
      t.match(await get('path=db.port&options.secret=true'), { body: { value: { data: '54321' } } })
      t.strictSame((await config.get('db', { secret: true })).json(), {
        password: 'hunter2',
        port: 54321,
        on: true,
        none: null,
        list: ['hunter2'],
        url: 'hunter2',
      })
      t.notMatch(await dumpStore(store), /hunter2|54321/)
    },
  )

  t.test(
    `${name}: Setting a string that is a valid JSON object stores it as a map (keys merge into an existing map; setting \`{a}\` after \`{b}\` yields both). Reading a path that does not exist in a map returns nothing.`,
    async (t) => {
      const { config, get, post } = await open(t, create(t))
      await config.set('x', '{"b":{"c":1}}')
      await config.set('x', '{"a":2}')
      t.strictSame((await config.get('x')).json(), { b: { c: 1 }, a: 2 })
      t.equal((await config.get('x.b.c')).int(), 1)
      await post('set', { path: 'x', value: { data: JSON.stringify('{"d":3}') } })
      t.strictSame((await config.get('x')).json(), { b: { c: 1 }, a: 2, d: 3 })
      for (const path of ['x.e', 'x.b.c.d', 'y']) {
        const value = await config.get(path)
        t.notOk(value.exists(), path)
        t.equal(value.json(), undefined)
        t.equal(value.error, undefined)
        t.match(await get(`path=${path}`), {
          status: 200,
          body: { value: { data: 'null' }, exists: false },
        })
      }
    },
  )
}

t.test('config del: deletes a leaf or a whole subtree', async (t) => {
  const { config, post } = await open(t, createMemoryStore())
  await config.set('', { a: { b: 1, c: 2 }, d: { e: 3 } })
  await config.delete('a.b')
  await config.delete('d')
  t.strictSame((await config.get('')).json(), { a: { c: 2 } })
  t.equal((await post('delete', { path: 'nothing' })).status, 200)
})

t.test(
  '| config | `Get(path, options)`, `Set(path, value, options)`, `Delete(path)`; option for secret; values offer typed accessors (`String`, `Int`, and so on) that coerce on a best-effort basis',
  async (t) => {
    const { config } = await open(t, createMemoryStore())
    await config.set('a', {
      text: 'x',
      number: '42',
      float: '1.5',
      flag: 'true',
      span: '1m30s',
      words: 'a,b',
      map: { b: 1 },
    })
    await config.set('a.hidden', '5', { secret: true })
    t.equal((await config.get('a.text')).string(), 'x')
    t.equal((await config.get('a.number')).int(), 42)
    t.equal((await config.get('a.float')).float64(), 1.5)
    t.equal((await config.get('a.flag')).bool(), true)
    t.equal((await config.get('a.span')).duration(), 90_000)
    t.strictSame((await config.get('a.words')).stringSlice(), ['a', 'b'])
    t.strictSame((await config.get('a.map')).stringMap(), { b: '1' })
    t.equal(Buffer.from((await config.get('a.text')).bytes()).toString(), 'x')
    t.equal((await config.get('a.hidden', { secret: true })).int(), 5)
    t.equal((await config.get('a.text')).int(7), 7)
    await config.delete('a.text')
    t.equal((await config.get('a.text')).string('fallback'), 'fallback')
  },
)

t.test(
  '`Scan` that fails on type mismatch; `Get` always returns a usable value even on error',
  async (t) => {
    const { config } = await open(t, createMemoryStore())
    await config.set('db', { host: 'localhost', pool: { max: 'many' } })
    const Pool = Type.Object({ max: Type.Integer() })
    await t.rejects(
      (await config.get('db')).scan(Type.Object({ host: Type.String(), pool: Pool })),
      {
        message: 'db.pool.max must be an integer, got "many"',
      },
    )
    await config.set('db.pool.max', 5)
    t.strictSame(await (await config.get('db.pool')).scan(Pool), { max: 5 })
    const value = await config.get('db..pool')
    t.match(value.error, { code: 400 })
    t.equal(value.int(3), 3)
    t.notOk(value.exists())
  },
)

t.test(
  'Config secrets are encrypted at rest. The encryption key is read from `MX_CONFIG_SECRET_KEY` or the flag `config_secret_key`; if absent, the server generates one and saves it',
  async (t) => {
    const folder = makeTempFolder(t, 'config')
    const file = join(folder, 'config_secret_key')
    const store = createStore(createLmdbStore({ folder: join(folder, 'store') }))
    t.teardown(store.close)
    const created = await openSecretKey({ store, file })
    t.equal(statSync(file).mode & 0o777, 0o600)
    const key = readFileSync(file, 'utf8')
    t.equal((await openSecretKey({ store, key }))!.id, created!.id)
    const { set } = await openPlatformConfig(t, { store, key })
    await set('db.password', 'hunter2-of-a-test', true)
    await store.close()
    const bytes = readFileSync(join(folder, 'store', 'data.mdb')).toString('latin1')
    t.notOk(bytes.includes('hunter2-of-a-test'))
    t.notOk(bytes.includes(key.trim()))
    t.ok(bytes.includes(created!.id), 'the file contains the record')
  },
)

t.test(
  'rejects a malformed path or value with 400 and the name of the field, and stores nothing',
  async (t) => {
    const { post, store } = await open(t, createMemoryStore())
    for (const [path, data, detail] of [
      ['a..b', '1', /^request\.path must be/],
      ['a.__proto__.b', '1', /^request\.path must be/],
      ['a', '{"x', /^request\.value\.data must be JSON/],
      [
        'a',
        '{"constructor":{"x":1}}',
        /^request\.value\.data must not contain the name "constructor"/,
      ],
      ['', '5', /^request\.value\.data must be an object/],
    ] as const)
      t.match(await post('set', { path, value: { data } }), {
        status: 400,
        body: { Code: 400, Detail: detail, Status: 'Bad Request' },
      })
    t.strictSame(await store.listTables(), [])
    t.equal(({} as { x?: number }).x, undefined)
  },
)

t.test('The namespace is chosen with the `Mx-Namespace` header.', async (t) => {
  const { post, get } = await open(t, createMemoryStore())
  const value = { path: 'a', value: { data: '1' } }
  t.equal((await post('set', value, { 'Mx-Namespace': 'foo' })).status, 200)
  t.equal((await get('path=a')).status, 404)
  t.match(await post('get', { path: 'a' }, { 'Mx-Namespace': 'foo' }), {
    status: 200,
    body: { value: { data: '1' } },
  })
})

t.test('watch streams the current value, and the new value after every change', async (t) => {
  const { origin, config } = await open(t, createMemoryStore())
  await config.set('a', { b: 1 })
  const reply = await fetch(`${origin}/watch?path=a`)
  t.equal(reply.headers.get('content-type'), 'application/x-ndjson')
  const values: string[] = []
  let text = ''
  for await (const chunk of reply.body!) {
    text += Buffer.from(chunk).toString()
    const lines = text.split('\n')
    text = lines.pop()!
    for (const line of lines)
      values.push((JSON.parse(line) as { value: { data: string } }).value.data)
    if (values.length === 1) await config.set('a.c', 'hunter2', { secret: true })
    if (values.length === 2) break
  }
  t.strictSame(values, ['{"b":1}', '{"b":1,"c":"[secret]"}'])
})
