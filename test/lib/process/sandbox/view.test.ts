import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { quoteShell, toViewScript } from '../../../../lib/process/sandbox/view.ts'
import { makeTempFolder } from '../../../fixtures/temp-folder.ts'

/** Creates `open/closed/data`; only the owner may enter `closed`. */
function makeTree(t: Test) {
  const open = makeTempFolder(t, 'view')
  chmodSync(open, 0o755)
  const data = join(open, 'closed', 'data')
  mkdirSync(join(data, 'build'), { recursive: true })
  mkdirSync(join(open, 'app', 'build'), { recursive: true })
  chmodSync(join(open, 'closed'), 0o700)
  return { open, closed: join(open, 'closed'), data, app: join(open, 'app') }
}

t.test('the topmost closed folder is covered by a tmpfs with the exposed paths', async (t) => {
  const { closed, data } = makeTree(t)
  const exposed = [{ path: join(data, 'build'), isWritable: false }]
  const stage = join(data, 'view')
  t.strictSame(toViewScript({ exposed, hidden: data, stage }), [
    `mount -t tmpfs -o mode=0755,size=256k,nosuid,nodev mx ${stage}`,
    `(umask 022 && mkdir -p ${stage}/data/build)`,
    `mount -o bind,ro ${data}/build ${stage}/data/build`,
    `mount --move ${stage} ${closed}`,
  ])
})

t.test('a hidden folder is covered regardless of its mode; open folders are not', async (t) => {
  const { open, app } = makeTree(t)
  const exposed = [
    { path: join(app, 'build'), isWritable: true },
    { path: '/usr', isWritable: false },
  ]
  const stage = join(open, 'view')
  t.strictSame(toViewScript({ exposed, hidden: app, stage }), [
    `mount -t tmpfs -o mode=0755,size=256k,nosuid,nodev mx ${stage}`,
    `(umask 022 && mkdir -p ${stage}/build)`,
    `mount -o bind ${app}/build ${stage}/build`,
    `mount --move ${stage} ${app}`,
  ])
})

t.test('the folder that contains the stage is covered last', async (t) => {
  const { data, app, closed } = makeTree(t)
  const exposed = [
    { path: join(data, 'build'), isWritable: true },
    { path: join(app, 'build'), isWritable: true },
  ]
  const script = toViewScript({ exposed, hidden: app, stage: join(data, 'view') })
  const moves = script
    .filter((line) => line.includes('--move'))
    .map((line) => line.split(' ').at(-1))
  t.strictSame(moves, [app, closed])
})

t.test('paths are quoted for a shell', async (t) => {
  t.equal(quoteShell('/a/b-c_1.d'), '/a/b-c_1.d')
  t.equal(quoteShell(`/a b/$(id)'`), `'/a b/$(id)'\\'''`)
})
