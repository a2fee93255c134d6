import { join } from 'node:path'
import t from 'tap'
import {
  findPackage,
  readPackage,
} from '../../../../../services/runtime/builds/languages/package-file.ts'
import { writeFiles } from '../../../../fixtures/build-source.ts'
import { makeTempFolder } from '../../../../fixtures/temp-folder.ts'

t.test('finds the package of a project, of a parent folder, or none', async (t) => {
  const root = makeTempFolder(t, 'package')
  const project = { root, folder: join(root, 'a'), file: undefined }
  writeFiles(root, { 'a/main.ts': '' })
  t.strictSame(await findPackage(project), { folder: join(root, 'a'), content: {} })
  writeFiles(root, { 'package.json': '{"main": "x.js"}' })
  t.strictSame(await findPackage(project), { folder: root, content: { main: 'x.js' } })
  writeFiles(root, { 'a/package.json': '{}' })
  t.strictSame(await findPackage(project), { folder: join(root, 'a'), content: {} })
})

t.test('installs a workspace with its root package', async (t) => {
  const root = makeTempFolder(t, 'package')
  const project = { root, folder: join(root, 'packages/a'), file: undefined }
  writeFiles(root, {
    'package.json': '{"workspaces": ["packages/*"]}',
    'package-lock.json': '{}',
    'packages/a/package.json': '{"main": "a.js"}',
  })
  t.equal((await findPackage(project)).folder, root)
  writeFiles(root, { 'packages/a/package-lock.json': '{}' })
  t.equal((await findPackage(project)).folder, project.folder, 'a project with its own lock file')
})

t.test('reports an invalid package.json with its path', async (t) => {
  const folder = makeTempFolder(t, 'package')
  writeFiles(folder, { 'package.json': '{"a": }' })
  await t.rejects(readPackage(folder), { code: 400, message: /^package\.json is not valid JSON: / })
  writeFiles(folder, { 'package.json': '7' })
  await t.rejects(readPackage(folder), { code: 400, message: /must be an object/ })
})
