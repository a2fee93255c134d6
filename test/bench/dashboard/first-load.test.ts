import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listFirstLoad } from '../../../bench/dashboard/first-load.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('includes the document and everything that it and its modules import immediately', (t) => {
  const folder = makeTempFolder(t, 'first-load')
  mkdirSync(join(folder, 'assets'))
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  write('index.html', '<script src="/assets/a-1.js"></script><link href="/assets/s-2.css">')
  write('assets/a-1.js', 'import{x as y}from"./b-3.js";import"./c-4.js";x(()=>import("./d-5.js"))')
  write('assets/b-3.js', 'import{z}from"./c-4.js";export{z}')
  write('assets/c-4.js', 'export const z=1')
  write('assets/d-5.js', 'x'.repeat(100_000))
  write('assets/s-2.css', 'a{}')
  const files = listFirstLoad(folder)
  t.strictSame(files.map(({ name }) => name).sort(), [
    'assets/a-1.js',
    'assets/b-3.js',
    'assets/c-4.js',
    'assets/s-2.css',
    'index.html',
  ])
  for (const { gzipBytes } of files) t.ok(gzipBytes > 0 && gzipBytes < 200)
  t.end()
})
