import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { removeDownloads, withDownloads } from '../../../../services/runtime/builds/downloads.ts'
import { eventually } from '../../../fixtures/eventually.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

/** Files in the layout of the npm cache. */
function download(cacheFolder: string, bytes: number): string {
  const folder = join(cacheFolder, 'npm', '_cacache', 'a')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package'), Buffer.alloc(bytes))
  return join(cacheFolder, 'npm')
}

t.test('deletes excessive downloads once no build is in progress', async (t) => {
  const cacheFolder = makeTempFolder(t, 'cache')
  const npm = download(cacheFolder, 101)
  await withDownloads(
    cacheFolder,
    async () => {
      await withDownloads(cacheFolder, async () => {}, 100, 0)
      await removeDownloads(cacheFolder, 100)
      t.ok(existsSync(npm), 'downloads in use are retained')
    },
    100,
    0,
  )
  await eventually(async () => readdirSync(cacheFolder).length === 0)
})

t.test("keeps downloads within the limit and forwards a build's failure", async (t) => {
  const cacheFolder = makeTempFolder(t, 'cache')
  const npm = download(cacheFolder, 100)
  const fail = () => Promise.reject(new Error('no such module'))
  await t.rejects(withDownloads(cacheFolder, fail, 100, 0), { message: 'no such module' })
  await removeDownloads(cacheFolder, 100)
  t.ok(existsSync(npm))
})
