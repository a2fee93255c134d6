import { mkdirSync, readlinkSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { linkMx, MX_FOLDER } from '../../../../../services/runtime/builds/languages/link-mx.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

t.test('resolves mx-gateway to this package unless another one is installed', async (t) => {
  t.ok(statSync(join(MX_FOLDER, 'package.json')).isFile())
  const folder = makeTempFolder(t, 'link')
  await linkMx(folder)
  t.equal(readlinkSync(join(folder, 'node_modules/mx-gateway')), MX_FOLDER)

  const moved = makeTempFolder(t, 'link')
  mkdirSync(join(moved, 'node_modules'))
  symlinkSync('/somewhere/before', join(moved, 'node_modules/mx-gateway'))
  await linkMx(moved)
  t.equal(readlinkSync(join(moved, 'node_modules/mx-gateway')), MX_FOLDER)

  const target = makeTempFolder(t, 'link')
  mkdirSync(join(target, 'node_modules/mx-gateway'), { recursive: true })
  await linkMx(target)
  t.notOk(statSync(join(target, 'node_modules/mx-gateway/package.json'), { throwIfNoEntry: false }))
})
