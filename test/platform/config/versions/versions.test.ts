import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { configurationFrom } from '../../../../platform/config/load.ts'
import type { Configuration } from '../../../../platform/config/types.ts'
import {
  createFileStorage,
  createStoreStorage,
  MEMORY_STORAGE,
  type StoredConfigVersion,
} from '../../../../platform/config/versions/storage.ts'
import {
  type ConfigVersionsOptions,
  openConfigVersions,
} from '../../../../platform/config/versions/versions.ts'
import { createLog } from '../../../../platform/process/log.ts'
import { SettingsError } from '../../../../platform/settings/sources.ts'
import { makeSecretKey, parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'

const ANY = { ifMatch: '*', author: 'mx/jane' }

async function open(
  t: Test,
  text: string | undefined,
  options: Partial<ConfigVersionsOptions> = {},
) {
  const folder = t.testdir()
  const file = join(folder, 'mx.yaml')
  if (text !== undefined) writeFileSync(file, text)
  const env = text === undefined ? {} : { MX_API_CONFIG: file }
  const load = configurationFrom(new Map(), env)
  const installed: Configuration[] = []
  const initial = await load()
  const start = () =>
    openConfigVersions({
      ...{ initial, load, noFileReason: undefined, storage: MEMORY_STORAGE },
      check: async () => {},
      onSaved: () => {},
      async install(next, save) {
        await save()
        installed.push(next)
      },
      log: createLog('silent'),
      ...options,
    })
  return { folder, file, installed, start, versions: await start() }
}

t.test('apply writes the file with its mode, through a symbolic link', async (t) => {
  const { folder, file, versions, installed } = await open(t, 'log_level: info')
  chmodSync(file, 0o640)
  const { file: written } = await versions.apply('log_level: error # note', ANY)
  t.equal(written, file)
  t.equal(readFileSync(file, 'utf8'), 'log_level: error # note')
  t.equal(statSync(file).mode & 0o777, 0o640)
  t.equal(installed.length, 1)
  t.same(readdirSync(folder), ['mx.yaml'], 'no draft remains')

  const link = join(folder, 'link.yaml')
  symlinkSync('mx.yaml', link)
  const linked = await openConfigVersions({
    ...{ noFileReason: undefined, storage: MEMORY_STORAGE, log: createLog('silent') },
    load: configurationFrom(new Map(), { MX_API_CONFIG: link }),
    initial: installed[0]!,
    check: async () => {},
    onSaved: () => {},
    install: (_, save) => save(),
  })
  await linked.apply('log_level: warn', ANY)
  t.equal(readFileSync(file, 'utf8'), 'log_level: warn')
})

t.test('a rejected installation leaves file, version and folder unchanged', async (t) => {
  const install = async () => {
    throw new SettingsError(['mx.yaml:1:1: no'])
  }
  const { folder, file, versions } = await open(t, 'log_level: info', { install })
  await t.rejects(versions.apply('log_level: error', ANY), {
    code: 400,
    message: 'mx.yaml:1:1: no',
  })
  t.equal(readFileSync(file, 'utf8'), 'log_level: info')
  t.equal(versions.current().number, 1)
  t.same(readdirSync(folder), ['mx.yaml'])
})

t.test(
  'if the file cannot be written, the previous configuration is installed again',
  async (t) => {
    const installed: string[] = []
    const { folder, file, versions } = await open(t, 'log_level: info', {
      async install(next, save) {
        installed.push(next.config.text)
        // A folder cannot be replaced by a file.
        rmSync(file, { force: true, recursive: true })
        mkdirSync(file)
        await save()
      },
    })
    await t.rejects(versions.apply('log_level: error', ANY), {
      code: 409,
      message: /^cannot write .*mx\.yaml: EISDIR: .*; change the file at its source; the gateway/,
    })
    t.same(readdirSync(folder), ['mx.yaml'], 'no draft remains')
    t.same(installed, ['log_level: error', 'log_level: info'])
  },
)

t.test('a changed file becomes a version; a reload of the same text does not', async (t) => {
  const { file, versions } = await open(t, 'log_level: info')
  await versions.reload()
  t.equal(versions.current().number, 1)
  writeFileSync(file, 'log_level: warn')
  await versions.reload()
  t.match(versions.current(), { number: 2, author: 'file', summary: '~setting log_level' })
  writeFileSync(file, 'log_level: nothing')
  await t.rejects(versions.reload(), { name: 'SettingsError' })
  t.equal(versions.current().number, 2)
})

t.test('without a file, an applied configuration survives a reload', async (t) => {
  const { versions, installed } = await open(t, undefined)
  t.match(await versions.apply('log_level: error', ANY), { file: '' })
  await versions.reload()
  t.same(
    installed.map(({ settings }) => settings.logLevel),
    ['error', 'error'],
  )
  t.equal(versions.current().number, 2)
  await versions.rollback(1, ANY)
  t.equal(installed.at(-1)?.config.text, '', 'the configuration loaded at startup')
})

t.test('needsFile rejects a configuration that workers could not read', async (t) => {
  const { versions } = await open(t, undefined, { noFileReason: 'start it with --config' })
  await t.rejects(versions.apply('log_level: error', ANY), {
    code: 409,
    message: 'start it with --config',
  })
})

t.test('the last 50 versions are stored and continue after a restart', async (t) => {
  const file = join(t.testdir(), 'mx.yaml')
  const { versions, start } = await open(t, 'log_level: info', { storage: createFileStorage(file) })
  for (let i = 1; i <= 60; i++) await versions.apply(`log_level: warn # ${i}`, ANY)
  t.equal(statSync(`${file}.history`).mode & 0o777, 0o600)
  t.same([versions.list().length, versions.current().number], [50, 61])
  const restarted = await start()
  t.match(restarted.current(), { number: 62, author: 'file', summary: 'changed before this start' })
})

t.test('the store has the text as written, encrypted with a key', async (t) => {
  const adapter = createMemoryStore({ maxBytes: 1e9 })
  const store = createStore(adapter)
  const key = parseSecretKey(makeSecretKey(), '')
  const version: StoredConfigVersion = {
    ...{ number: 1, time: 1, author: 'file', etag: '""', summary: '' },
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference of mx.yaml.
    text: 'token: ${secret:shop/token}',
  }
  const sealed = createStoreStorage(store, 'one', key)
  t.same(await sealed.read(), [])
  await sealed.write([version])
  t.same(await sealed.read(), [version])
  t.same(await createStoreStorage(store, 'two', key).read(), [], 'from another server')
  const record = await store.read({ database: 'mx', table: 'gateway' }, 'one:versions')
  t.notMatch(Buffer.from(record!.value).toString(), /shop/)
  await t.rejects(createStoreStorage(store, 'one', undefined).read(), /config_secret_key/)

  const open = createStoreStorage(store, 'three', undefined)
  const text = 'x'.repeat(200_000)
  await open.write([1, 2, 3, 4].map((number) => ({ ...version, number, text })))
  t.same(
    (await open.read()).map(({ number }) => number),
    [3, 4],
    'the newest versions that fit in a record',
  )
})
