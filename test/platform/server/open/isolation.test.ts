import t from 'tap'
import { openIsolation } from '../../../../platform/server/open/isolation.ts'
import { createQuietLog } from '../../../fixtures/sdk-services.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const OFF = { runtimeUids: undefined, runtimeNamespaces: [] }

async function open(t: Parameters<typeof makeTempFolder>[0], settings: object) {
  const { log, lines } = createQuietLog('runtime')
  const folder = makeTempFolder(t, 'runtime')
  await openIsolation({
    ...{ settings: { profile: 'local', ...OFF, ...settings }, folder, hidden: folder, log },
  })
  return { folder, entries: lines.map((line) => JSON.parse(line)) }
}

t.test('logs missing isolation, as a warning if several users may share the server', async (t) => {
  const { folder, entries } = await open(t, {})
  const owner = process.geteuid?.() === 0 ? 'all users of this machine' : 'user \\d+'
  const accessible = new RegExp(`all files of ${owner}: the data and secrets in ${folder}`)
  t.match(entries, [{ msg: /not isolated/, reason: 'runtime_uids is none', accessible }])
  if (process.geteuid?.() === 0)
    t.match(entries, [{ level: 40, msg: /run as root/, hint: /runtime_uids/ }])
  else t.match(entries, [{ level: 30, msg: /run as the user of the server/ }])
  t.match((await open(t, { profile: 'cluster' })).entries, [{ level: 40 }])
})

t.test('warns about data that programs of additional namespaces can read', async (t) => {
  const { entries } = await open(t, { runtimeNamespaces: ['tb'] })
  t.match(entries[1], {
    level: 40,
    runtimeNamespaces: ['tb'],
    accessible: /the data and secrets in/,
  })
})
