import { existsSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { useCached } from '../../../../services/runtime/builds/cache.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

function open(t: Test) {
  const cacheFolder = makeTempFolder(t, 'cache')
  const user = makeTempFolder(t, 'user')
  const built: string[] = []
  return {
    cacheFolder,
    user,
    built,
    use: (name: string, by = user, fail?: Error, signal = new AbortController().signal) =>
      useCached(
        { cacheFolder, kind: 'things', inputs: [name], user: by, signal },
        async (folder) => {
          built.push(name)
          await pause(20)
          await writeFile(join(folder, 'thing'), name)
          if (fail !== undefined) throw fail
        },
      ),
  }
}

t.test('creates an entry once for concurrent builds', async (t) => {
  const { use, built } = open(t)
  const folders = await Promise.all([use('a'), use('a'), use('b'), use('a')])
  t.equal(new Set(folders).size, 2)
  t.strictSame(built.sort(), ['a', 'b'])
  t.equal(await use('a'), folders[0])
  t.strictSame(built.length, 2)
  t.equal(await readFile(join(folders[0]!, 'thing'), 'utf8'), 'a')
})

t.test('deletes a failed entry and does not fail the waiting builds', async (t) => {
  const { use, built, cacheFolder } = open(t)
  const failing = use('a', undefined, new Error('build failed'))
  const pending = use('a')
  await t.rejects(failing, { message: 'build failed' })
  t.equal(await readFile(join(await pending, 'thing'), 'utf8'), 'a')
  t.equal(built.length, 2)
  t.equal(readdirSync(join(cacheFolder, 'things')).length, 1)
})

t.test('stops waiting for another build when cancelled', async (t) => {
  const { use, built } = open(t)
  const making = use('a')
  const abort = new AbortController()
  const pending = use('a', undefined, undefined, abort.signal)
  abort.abort(new Error('given up'))
  let isBuilt = false
  const done = making.then(() => {
    isBuilt = true
  })
  await t.rejects(pending, { message: 'given up' })
  t.notOk(isBuilt)
  await done
  t.strictSame(built, ['a'])
})

t.test('recreates an incomplete entry of an earlier server', async (t) => {
  const { use, built } = open(t)
  const folder = await use('a')
  rmSync(join(folder, '.whole'))
  writeFileSync(join(folder, 'rest'), '')
  t.equal(await use('a'), folder)
  t.equal(built.length, 2)
  t.notOk(existsSync(join(folder, 'rest')))
})

t.test('deletes unused entries after their retention', async (t) => {
  const { use, user } = open(t)
  const missingFolder = makeTempFolder(t, 'gone')
  const unused = await use('unused', missingFolder)
  const used = await use('used', user)
  const recent = await use('recent', missingFolder)
  rmSync(missingFolder, { recursive: true })
  const eightDaysAgo = new Date(Date.now() - 8 * 86_400_000)
  for (const folder of [unused, used])
    utimesSync(join(folder, '.whole'), eightDaysAgo, eightDaysAgo)
  await use('other')
  t.notOk(existsSync(unused))
  t.ok(existsSync(used), 'the entry of an existing user is retained')
  t.ok(existsSync(recent), 'a recently used entry is retained')
})

t.test('retains the most recently used of many unused entries', async (t) => {
  const { use } = open(t)
  const missingFolder = makeTempFolder(t, 'gone')
  const folders: string[] = []
  for (let i = 0; i < 12; i++) folders.push(await use(String(i), missingFolder))
  rmSync(missingFolder, { recursive: true })
  for (const [i, folder] of folders.entries()) {
    const usedAt = new Date(Date.now() - (100 + i) * 60_000)
    utimesSync(join(folder, '.whole'), usedAt, usedAt)
  }
  await use('other')
  t.strictSame(
    folders.map((folder) => existsSync(folder)),
    folders.map((_, i) => i < 10),
  )
})
