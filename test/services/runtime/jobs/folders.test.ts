import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import t from 'tap'
import { removeFolder } from '../../../../lib/process/sandbox/remove-folder.ts'
import { createFolders, removeBuilds } from '../../../../services/runtime/jobs/folders.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'a/b' }

t.test('separates folders of different objects', async (t) => {
  const folders = createFolders('/data')
  t.equal(folders.build(KEY, '1'), '/data/builds/mx/shop/a%2Fb/1')
  t.equal(dirname(folders.builds({ ...KEY, version: 'a' })), dirname(folders.builds(KEY)))
})

t.test('deletes unused builds with their output', async (t) => {
  const folders = createFolders(t.testdir({}))
  await removeBuilds(folders, KEY, async () => new Set())
  for (const build of ['1', '2']) {
    mkdirSync(folders.build(KEY, build), { recursive: true })
    writeFileSync(folders.output(KEY, build), '')
  }
  await removeBuilds(folders, KEY, async () => {
    mkdirSync(folders.build(KEY, '3'))
    return new Set(['2'])
  })
  t.same(
    readdirSync(folders.builds(KEY)).sort(),
    ['2', '2.log', '3'],
    'a build in progress is retained',
  )
  await removeFolder(folders.builds(KEY))
  await removeFolder(folders.builds(KEY))
  t.notOk(existsSync(folders.builds(KEY)))
})
