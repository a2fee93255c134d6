import t, { type Test } from 'tap'
import { createDiskRoom } from '../../../../services/runtime/jobs/disk-room.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

const MIB = 1024 * 1024
const FULL = {
  code: 507,
  message: 'the disk of the server is full: 99 MiB are free, but min_free_disk is 100mb',
}
const { signal } = new AbortController()

function open(t: Test, free: () => number, freeSpace = async () => {}) {
  const folder = makeTempFolder(t, 'room')
  const readFree = async () => free()
  return createDiskRoom({ folder, minFreeBytes: 100 * MIB, everyMs: 5, readFree, freeSpace })
}

t.test('runs work if there is free space', async (t) => {
  t.equal(await open(t, () => 100 * MIB).use(signal, async () => 'done'), 'done')
  const folder = makeTempFolder(t, 'room')
  const real = createDiskRoom({ folder, minFreeBytes: 1 })
  t.equal(await real.use(signal, async () => 'done'), 'done', 'the actual amount of free space')
  const unlimited = createDiskRoom({ folder, minFreeBytes: Number.MAX_SAFE_INTEGER })
  await t.rejects(
    unlimited.use(signal, async () => 'done'),
    { code: 507 },
  )
  const none = createDiskRoom({ folder, minFreeBytes: 0, readFree: async () => 0 })
  t.equal(await none.use(signal, async () => 'done'), 'done', 'no free space is required')
})

t.test('frees space first and rejects work if that is not enough', async (t) => {
  let free = 99 * MIB
  const freeSpace = async () => {
    free += MIB
  }
  t.equal(await open(t, () => free, freeSpace).use(signal, async () => 'done'), 'done')
  let isStarted = false
  const work = open(t, () => 99 * MIB + 1).use(signal, async () => {
    isStarted = true
  })
  await t.rejects(work, FULL)
  t.notOk(isStarted)
})

t.test('ends work that uses the last free space', async (t) => {
  let free = 100 * MIB
  const work = open(t, () => free).use(
    signal,
    (ending) =>
      new Promise((_, reject) => {
        ending.addEventListener('abort', () => reject(ending.reason))
        free -= MIB
      }),
  )
  await t.rejects(work, FULL)
})
