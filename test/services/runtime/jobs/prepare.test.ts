import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createDiskRoom } from '../../../../services/runtime/jobs/disk-room.ts'
import { createFolders } from '../../../../services/runtime/jobs/folders.ts'
import {
  createPrepare,
  isUploaded,
  toUploadedSource,
} from '../../../../services/runtime/jobs/prepare.ts'
import type { ServiceRecord } from '../../../../services/runtime/state/records.ts'
import { openEgress } from '../../../fixtures/egress.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'
import { makeRecord, makeRevision } from '../parts.ts'

function open(t: Test) {
  const folders = createFolders(makeTempFolder(t, 'prepare'))
  const diskRoom = createDiskRoom({ folder: folders.cache, minFreeBytes: 0 })
  const prepare = createPrepare({
    folders,
    room: diskRoom,
    allowsLocal: () => true,
    egress: openEgress(),
    openSecret: () => '',
  })
  const signal = new AbortController().signal
  const run = (record: ServiceRecord) => prepare(record, { onOutput: () => {}, signal })
  return { folders, run }
}

const { wish } = makeRecord()

t.test('rolls back to the previous revision under a new id', async (t) => {
  const previous = makeRevision('one', { env: { A: '1' } })
  const record = makeRecord({
    ...{ previous, current: makeRevision('two') },
    asked: { id: 'three', kind: 'rollback', upload: '' },
  })
  t.same(await open(t).run(record), { ...previous, id: 'three' })
})

t.test('restarts the current revision with the current settings', async (t) => {
  const current = makeRevision('one', { env: { A: '1', B: '1' }, instances: 2 })
  const record = makeRecord({
    ...{ current, wish: { ...wish, env: { B: '2' }, memory: 1000 } },
    asked: { id: 'two', kind: 'restart', upload: '' },
  })
  t.same(await open(t).run(record), {
    ...{ ...current, id: 'two', env: { A: '1', B: '2' }, resources: { memoryBytes: 1000 } },
  })
})

t.test('needs no build for an image', async (t) => {
  const request = { ...wish, image: 'nginx:1', args: ['-v'], protocol: 'http', port: 80 } as const
  t.match(await open(t).run(makeRecord({ source: '', wish: request })), {
    ...{ id: 'one', build: '', protocol: 'http', port: 80, instances: 1 },
    program: { kind: 'image', image: 'nginx:1', args: ['-v'] },
  })
})

t.test('appends arguments to the command of the object or the project', async (t) => {
  const { folders, run } = open(t)
  mkdirSync(folders.upload('up'), { recursive: true })
  writeFileSync(join(folders.upload('up'), 'mx.yaml'), 'command: node main.js\n')
  writeFileSync(join(folders.upload('up'), 'main.js'), '')
  const request = { id: 'one', kind: 'build', upload: 'up' } as const
  const { program } = await run(makeRecord({ asked: request, wish: { ...wish, args: ['-v'] } }))
  t.same(program.command?.slice(1), ['main.js', '-v'])
  const command = ['node', 'other.js']
  const next = await run(makeRecord({ asked: request, wish: { ...wish, command, args: ['-v'] } }))
  t.same(next.program.command?.slice(1), ['other.js', '-v'])
  t.equal(readFileSync(join(folders.upload('up'), 'main.js'), 'utf8'), '', 'the upload is retained')
})

t.test('rejects an update whose source is no longer available', async (t) => {
  const { run } = open(t)
  await t.rejects(run(makeRecord()), { code: 400, message: /no longer available; upload it again/ })
})

t.test('names an upload after its object', async (t) => {
  const source = toUploadedSource({ name: 'shop', version: 'v1' })
  t.equal(source, 'source://shop:v1')
  t.ok(isUploaded(source))
  t.notOk(isUploaded('github.com/a/b'))
})
