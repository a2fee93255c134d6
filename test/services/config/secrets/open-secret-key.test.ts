import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createMemoryStore } from '../../../../adapters/store/memory.ts'
import { storeUnavailable } from '../../../../domain/store/errors.ts'
import { createStore } from '../../../../domain/store/store.ts'
import { openSecretKey } from '../../../../services/config/secrets/open-secret-key.ts'
import { parseSecretKey } from '../../../../services/config/secrets/secret-key.ts'
import { dumpStore, KEY, OTHER_KEY, openPlatformConfig } from '../../../fixtures/platform-config.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const SETTING = 'MX_CONFIG_SECRET_KEY or --config_secret_key'
const { id } = parseSecretKey(KEY, 'key')
const { id: otherId } = parseSecretKey(OTHER_KEY, 'key')

function open(t: Test) {
  const store = createStore(createMemoryStore())
  t.teardown(store.close)
  return { store, file: join(makeTempFolder(t, 'key'), 'config_secret_key') }
}

/** A store with a secret under {@link KEY}. */
async function openWithSecret(t: Test) {
  const { store, file } = open(t)
  const { set } = await openPlatformConfig(t, { store })
  await set('a', 'hunter2', true)
  return { store, file, before: await dumpStore(store) }
}

t.test('prefers the configured key and does not read the file', async (t) => {
  const { store, file } = open(t)
  writeFileSync(file, 'no key', { mode: 0o644 })
  t.equal((await openSecretKey({ store, file, key: KEY }))!.id, id)
  await t.rejects(openSecretKey({ store, file }), { message: /chmod 600/ })
})

t.test('reads the key from the file, which is created if missing', async (t) => {
  const { store, file } = open(t)
  const created = await openSecretKey({ store, file })
  t.ok(existsSync(file))
  t.equal((await openSecretKey({ store, file }))!.id, created!.id)
  t.strictSame(
    await store.listTables(),
    [],
    'the store has no note of the key before the first secret',
  )
})

t.test('supports no secrets without key and file', async (t) => {
  const { store } = open(t)
  t.equal(await openSecretKey({ store }), undefined)
})

t.test('accepts the correct key repeatedly', async (t) => {
  const { store, before } = await openWithSecret(t)
  t.equal((await openSecretKey({ store, key: KEY }))!.id, id)
  t.equal((await openSecretKey({ store, key: KEY, previousKey: OTHER_KEY }))!.id, id)
  t.equal(await dumpStore(store), before)
})

t.test('rejects a wrong key with a one-line message and overwrites nothing', async (t) => {
  const { store, file, before } = await openWithSecret(t)
  await t.rejects(openSecretKey({ store, key: OTHER_KEY }), {
    message: `the key in ${SETTING} does not match the key that encrypted the configuration secrets; nothing was changed`,
  })
  writeFileSync(file, OTHER_KEY, { mode: 0o600 })
  await t.rejects(openSecretKey({ store, file }), {
    message: `the key in ${file} does not match the key that encrypted the configuration secrets; nothing was changed`,
  })
  const third = Buffer.alloc(32, 3).toString('base64')
  await t.rejects(openSecretKey({ store, key: OTHER_KEY, previousKey: third }), {
    message: /^neither the key in .* nor the key in MX_CONFIG_SECRET_KEY_PREVIOUS .* matches/,
  })
  t.equal(readFileSync(file, 'utf8'), OTHER_KEY)
  t.equal(await dumpStore(store), before)
})

t.test('reports a missing key and creates none', async (t) => {
  const { store, file, before } = await openWithSecret(t)
  await t.rejects(openSecretKey({ store, file }), {
    message: `the configuration contains secrets, but their encryption key is missing: set ${SETTING}, or ${file}`,
  })
  t.notOk(existsSync(file))
  await t.rejects(openSecretKey({ store }), {
    message: /their encryption key is missing: set [^/]*$/,
  })
  t.equal(await dumpStore(store), before)
})

t.test('re-encrypts everything with the new key if the previous one is set', async (t) => {
  const { store } = await openWithSecret(t)
  t.equal((await openSecretKey({ store, key: OTHER_KEY, previousKey: KEY }))!.id, otherId)
  const { get } = await openPlatformConfig(t, { store, key: OTHER_KEY })
  t.equal(await get('a', { secret: true }), 'hunter2')
  t.notMatch(await dumpStore(store), new RegExp(id))
  await t.rejects(openSecretKey({ store, key: KEY }), { message: /does not match/ })
})

t.test('rejects a malformed key with the name of its setting', async (t) => {
  const { store, file } = open(t)
  await t.rejects(openSecretKey({ store, file, key: 'hunter2' }), {
    message: `${SETTING} must be 32 bytes in base64, as created by \`openssl rand -base64 32\`, got 5 bytes`,
  })
  await t.rejects(openSecretKey({ store, file, key: '' }), {
    message: /^MX_CONFIG_SECRET_KEY or .* must be/,
  })
  await t.rejects(openSecretKey({ store, key: KEY, previousKey: 'x' }), {
    message: /^MX_CONFIG_SECRET_KEY_PREVIOUS or --config_secret_key_previous must be 32 bytes/,
  })
  t.notOk(existsSync(file))
})

t.test('reports an unavailable store and creates no key', async (t) => {
  const { file } = open(t)
  const store = createStore({
    ...createMemoryStore(),
    read: () => {
      throw storeUnavailable(new Error('refused'))
    },
  })
  t.teardown(store.close)
  await t.rejects(openSecretKey({ store, file }), { code: 503 })
  t.notOk(existsSync(file))
})
