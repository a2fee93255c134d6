import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { WorkloadKey } from '../../../../core/contracts/runtime.ts'
import { createQuota, noQuota } from '../../../../core/limits/quota.ts'
import { createDiskRoom } from '../../../../services/runtime/jobs/disk-room.ts'
import { createFolders } from '../../../../services/runtime/jobs/folders.ts'
import { createUploads, type UploadsOptions } from '../../../../services/runtime/sources/uploads.ts'
import { keepAlive } from '../../../fixtures/keep-alive.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const KEY = { namespace: 'mx', name: 'shop', version: 'latest' }

function open(t: Test, options: Partial<UploadsOptions> = {}) {
  // The upload timer does not keep the process alive, but connections do.
  keepAlive(t)
  const folders = createFolders(makeTempFolder(t, 'uploads'))
  const diskRoom = createDiskRoom({ folder: folders.uploads, minFreeBytes: 0 })
  const quota = noQuota('quota_uploads')
  const all = createUploads({ folders, diskRoom, quota, ...options })
  const { signal } = new AbortController()
  const take = (key: WorkloadKey, parts: AsyncIterable<Uint8Array>) => all.take(key, parts, signal)
  return { folders, uploads: { ...all, take } }
}

/** An upload whose client stopped sending. */
async function* stalledUpload(): AsyncGenerator<Uint8Array> {
  await new Promise(() => {})
  yield new Uint8Array()
}

async function* pack(t: Test, text: string) {
  const folder = t.testdir({ 'main.js': text })
  yield execFileSync('tar', ['-C', folder, '-cz', '.'])
}

t.test('claims an upload once', async (t) => {
  const { folders, uploads } = open(t)
  await uploads.take(KEY, pack(t, 'one'))
  t.equal(uploads.claim({ ...KEY, namespace: 'acme' }), undefined)
  const id = uploads.claim(KEY)!
  t.equal(readFileSync(join(folders.upload(id), 'main.js'), 'utf8'), 'one')
  t.equal(uploads.claim(KEY), undefined)
})

t.test('distinguishes a claimed upload from a missing one', async (t) => {
  const { uploads } = open(t)
  t.equal(uploads.wasClaimed(KEY), false)
  t.equal(uploads.claim(KEY), undefined)
  t.equal(uploads.wasClaimed(KEY), false)
  await uploads.take(KEY, pack(t, 'one'))
  uploads.claim(KEY)
  t.equal(uploads.wasClaimed(KEY), true)
  t.equal(uploads.wasClaimed({ ...KEY, namespace: 'acme' }), false)
})

t.test('replaces a pending upload with a newer one and deletes abandoned ones', async (t) => {
  const { folders, uploads } = open(t)
  await uploads.take(KEY, pack(t, 'one'))
  await uploads.take(KEY, pack(t, 'two'))
  t.equal(readdirSync(folders.uploads).length, 1)
  await uploads.forget(KEY)
  t.same(readdirSync(folders.uploads), [])
})

t.test('retains one of several uploads of an object that end simultaneously', async (t) => {
  const { folders, uploads } = open(t)
  const { value: archive } = await pack(t, 'text').next()
  const parts = async function* () {
    yield archive!
  }
  await uploads.take(KEY, parts())
  for (let i = 0; i < 5; i++)
    await Promise.all(Array.from({ length: 8 }, () => uploads.take(KEY, parts())))
  t.strictSame(readdirSync(folders.uploads), [uploads.claim(KEY)])
})

t.test('rejects a file that is not an archive and leaves no files', async (t) => {
  const { folders, uploads } = open(t)
  const parts = async function* () {
    yield Buffer.from('no archive')
  }
  await t.rejects(uploads.take(KEY, parts()), { code: 400 })
  t.same(readdirSync(folders.uploads), [])
  t.equal(uploads.claim(KEY), undefined)
})

t.test('deletes unused uploads', async (t) => {
  const { folders, uploads } = open(t)
  await uploads.clean(new Set())
  await uploads.take(KEY, pack(t, 'one'))
  const claimed = uploads.claim(KEY)!
  await uploads.take(KEY, pack(t, 'two'))
  await uploads.clean(new Set([claimed]))
  t.same(readdirSync(folders.uploads), [claimed])
  t.ok(existsSync(folders.upload(claimed)))
})

t.test('ends an upload on timeout and leaves no files', async (t) => {
  const { folders, uploads } = open(t, { timeoutMs: 50 })
  const timeoutError = { code: 408, message: 'the upload timed out after 50ms' }
  await t.rejects(uploads.take(KEY, stalledUpload()), timeoutError)
  t.same(readdirSync(folders.uploads), [])
})

t.test('ends a stalled upload before the timeout', async (t) => {
  const { folders, uploads } = open(t, { idleMs: 50 })
  const idle = { code: 408, message: 'the upload stalled for 50ms' }
  await t.rejects(uploads.take(KEY, stalledUpload()), idle)
  t.same(readdirSync(folders.uploads), [])
})

t.test('leaves a slot to other namespaces while uploads stall', async (t) => {
  const { uploads } = open(t, { idleMs: 1000, maxWaitMs: 50 })
  const stalled = ['ta', 'tb'].flatMap((namespace) =>
    Array.from({ length: 8 }, () => uploads.take({ ...KEY, namespace }, stalledUpload())),
  )
  const settled = Promise.allSettled(stalled)
  await uploads.take(KEY, pack(t, 'one'))
  t.ok(uploads.claim(KEY))
  const codes = (await settled).map((end) => end.status === 'rejected' && end.reason.code)
  t.same([...new Set(codes)].sort(), [408, 503], 'uploads without a slot are rejected with 503')
})

t.test('limits the uploads of a namespace to its quota', async (t) => {
  const quota = createQuota('quota_uploads', { limit: 2, namespaces: {} })
  const { uploads } = open(t, { quota })
  const acme = { ...KEY, namespace: 'acme' }
  await uploads.take(acme, pack(t, 'one'))
  await uploads.take({ ...acme, name: 'other' }, pack(t, 'one'))
  await uploads.take(acme, pack(t, 'in place of the first'))
  const third = { ...acme, name: 'third' }
  await t.rejects(uploads.take(third, pack(t, 'one')), {
    code: 429,
    message:
      'quota_uploads reached in namespace acme: 2 of 2 uploads in use; deploy the uploads or wait until some have ended, or raise the quota (quota_uploads=acme=...)',
  })
  for (let i = 0; i < 3; i++) await uploads.take({ ...KEY, name: `a${i}` }, pack(t, 'one'))
  uploads.claim(acme)
  await uploads.take(third, pack(t, 'one'))
})
