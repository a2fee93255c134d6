import t, { type Test } from 'tap'
import { createFailures } from '../../../domain/lmdb/failure-log.ts'
import { mountSmallDisk } from '../../fixtures/small-disk.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

const MAP_FULL = Object.assign(new Error('map full'), { code: -30792 })
const DISK_FULL = Object.assign(new Error('no space left'), { code: 28 })
const BROKEN = Object.assign(new Error('input/output error'), { code: 5 })

function open(folder: string) {
  const messages: string[] = []
  const clock = { nowMs: 0 }
  const failures = createFailures({
    what: 'the store',
    folder,
    onWarning: (message) => messages.push(message),
    nowMs: () => clock.nowMs,
  })
  return { ...failures, messages, clock }
}

function openInTemp(t: Test) {
  const folder = makeTempFolder(t, 'failures')
  return { folder, ...open(folder) }
}

t.test('logs nothing for successful writes', async (t) => {
  const { onSuccess, messages: events } = openInTemp(t)
  onSuccess()
  t.same(events, [])
})

t.test('logs a full disk once, and its end once', async (t) => {
  const { folder, onFailure, onSuccess, messages: events, clock } = openInTemp(t)
  for (let i = 0; i < 100; i++) onFailure(MAP_FULL)
  t.same(events.splice(0), [
    `the store is full: no space left in ${folder}; writes are rejected until space is free`,
  ])
  clock.nowMs = 11_000
  for (let i = 0; i < 100; i++) onSuccess()
  t.same(events, [`the store is writable again after 11 s: ${folder}`])
})

t.test('logs once for alternating success and failure', async (t) => {
  const { onFailure, onSuccess, messages: events, clock } = openInTemp(t)
  for (; clock.nowMs < 60_000; clock.nowMs += 1000) {
    onFailure(MAP_FULL)
    onSuccess()
  }
  t.equal(events.length, 1)
})

t.test('logs the message of another cause', async (t) => {
  const { folder, onFailure, messages: events } = openInTemp(t)
  onFailure(BROKEN)
  t.same(events, [
    `the store is not writable in ${folder}; writes are rejected until it is: input/output error`,
  ])
})

t.test('treats a nearly full disk as full', (t) => {
  const disk = mountSmallDisk(t, 8)
  if (disk !== undefined) {
    const { onFailure, onSuccess, messages: events, clock } = open(disk.folder)
    onFailure(DISK_FULL)
    clock.nowMs = 60_000
    onSuccess()
    t.equal(events.length, 1)
    disk.resize(64)
    onSuccess()
    t.equal(events.length, 2)
  }
  t.end()
})

t.test('does not retry a write immediately unless there is more space', (t) => {
  const disk = mountSmallDisk(t, 8)
  if (disk !== undefined) {
    const { onFailure, findReason, clock } = open(disk.folder)
    t.equal(findReason(), undefined)
    onFailure(DISK_FULL)
    t.equal(findReason(), DISK_FULL)
    clock.nowMs = 2000
    t.equal(findReason(), undefined, 'retried after a pause')
    onFailure(DISK_FULL)
    disk.resize(9)
    t.equal(findReason(), undefined, 'retried with more space')
    onFailure(BROKEN)
    disk.resize(64)
    onFailure(BROKEN)
    t.equal(findReason(), undefined, 'other failures do not prevent writes')
  }
  t.end()
})
