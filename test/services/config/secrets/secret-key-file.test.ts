import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  createSecretKeyFile,
  readSecretKeyFile,
} from '../../../../services/config/secrets/secret-key-file.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const open = (t: Parameters<typeof makeTempFolder>[0]) =>
  join(makeTempFolder(t, 'key'), 'mx', 'key')

t.test('creates a key file readable only by its owner', async (t) => {
  const file = open(t)
  t.equal(readSecretKeyFile(file), undefined)
  const key = createSecretKeyFile(file)
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
  t.equal(readSecretKeyFile(file)!.id, key.id)
  t.match(readFileSync(file, 'utf8'), /^[A-Za-z0-9+/]{43}=\n$/)
  t.strictSame(readdirSync(join(file, '..')), ['key'], 'no temporary files remain')
})

t.test('never replaces an existing key file', async (t) => {
  const file = open(t)
  const { id } = createSecretKeyFile(file)
  const text = readFileSync(file, 'utf8')
  t.equal(createSecretKeyFile(file).id, id)
  t.equal(readFileSync(file, 'utf8'), text)
  writeFileSync(file, '')
  t.throws(() => createSecretKeyFile(file), { message: /key must be 32 bytes in base64/ })
  t.equal(readFileSync(file, 'utf8'), '')
  t.strictSame(readdirSync(join(file, '..')), ['key'])
})

t.test('rejects a malformed key with its file name without quoting it', async (t) => {
  const file = open(t)
  mkdirSync(file, { recursive: true })
  t.throws(() => readSecretKeyFile(file), {
    message: `${file} must be a regular file that contains the configuration secret key`,
  })
  const other = join(file, 'other')
  writeFileSync(other, 'hunter2', { mode: 0o600 })
  t.throws(() => readSecretKeyFile(other), {
    message: /^.*other must be 32 bytes in base64.* got 5 bytes$/,
  })
  writeFileSync(other, 'A'.repeat(2000))
  t.throws(() => readSecretKeyFile(other), { message: /must be a regular file that contains/ })
})

t.test(
  'rejects a key file that others can read',
  { skip: process.platform === 'win32' },
  async (t) => {
    const file = open(t)
    createSecretKeyFile(file)
    for (const mode of [0o640, 0o604, 0o620, 0o602]) {
      chmodSync(file, mode)
      t.throws(() => readSecretKeyFile(file), {
        message: `${file} must be accessible only to its owner: chmod 600 ${file}`,
      })
    }
    chmodSync(file, 0o400)
    t.ok(readSecretKeyFile(file))
  },
)

t.test('reports a folder that cannot be used', async (t) => {
  const file = join(makeTempFolder(t, 'key'), 'file')
  writeFileSync(file, '')
  t.throws(() => createSecretKeyFile(join(file, 'key')), { message: /(EEXIST|ENOTDIR).*file/ })
})
