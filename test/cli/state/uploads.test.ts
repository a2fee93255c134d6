import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findUpload, recordUpload } from '../../../cli/state/uploads.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const home = makeTempFolder(t, 'home')
process.env['HOME'] = home
const FILE = join(home, '.mx', 'uploads')
const environment = { name: 'local', address: '127.0.0.1:8081' }
const SHOP = { environment, namespace: 'mx', name: 'shop', version: 'latest' }

t.test(
  'the last uploaded folder is found by environment, namespace, name and version',
  async (t) => {
    t.equal(findUpload(SHOP), undefined)
    await recordUpload(SHOP, '/src/old')
    await recordUpload(SHOP, '/src/shop\n"x"')
    await recordUpload({ ...SHOP, name: 'pay' }, '/src/pay')
    t.equal(findUpload(SHOP), '/src/shop\n"x"')
    for (const other of [
      { ...SHOP, version: 'v2' },
      { ...SHOP, namespace: 'acme' },
      { ...SHOP, environment: { ...environment, address: '127.0.0.1:9081' } },
    ])
      t.equal(findUpload(other), undefined)
    t.equal(readFileSync(FILE, 'utf8').split('\n').length, 3, 'one line per object')
  },
)

t.test('invalid lines are skipped, and at most 1000 lines are retained', async (t) => {
  writeFileSync(FILE, `broken\n${'["a","/a"]\n'.repeat(1500)}["last","/last"]\n`)
  await recordUpload(SHOP, '/src/shop')
  t.equal(findUpload(SHOP), '/src/shop')
  const lines = readFileSync(FILE, 'utf8').trimEnd().split('\n')
  t.equal(lines.length, 1000)
  t.equal(lines.at(-2), '["last","/last"]')
})
