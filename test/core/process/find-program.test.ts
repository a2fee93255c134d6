import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findProgram } from '../../../core/process/find-program.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('a program with a slash is of the folder, others of the search path', async (t) => {
  const folder = makeTempFolder(t, 'program')
  mkdirSync(join(folder, 'bin'))
  for (const name of ['app', 'bin/tool']) {
    writeFileSync(join(folder, name), '')
    chmodSync(join(folder, name), 0o755)
  }
  writeFileSync(join(folder, 'text'), '')
  t.equal(findProgram('./app', folder, ''), join(folder, 'app'))
  t.equal(findProgram('bin/tool', folder, ''), join(folder, 'bin/tool'))
  t.equal(findProgram(join(folder, 'app'), '/', ''), join(folder, 'app'))
  t.equal(findProgram('tool', '/', `/nowhere::relative:${folder}/bin`), join(folder, 'bin/tool'))
  t.throws(() => findProgram('app', folder, '/nowhere'), /no program app in PATH \(\/nowhere\)/)
  for (const name of ['./text', './bin', './gone'])
    t.throws(() => findProgram(name, folder, folder), /is no program that can be run/)
  t.throws(() => findProgram('', folder, folder), /the command is empty/)
})
