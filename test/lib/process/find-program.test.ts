import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findProgram } from '../../../lib/process/find-program.ts'
import { makeTempFolder } from '../../fixtures/temp-folder.ts'

t.test('a program with a slash is resolved in the folder, others in PATH', async (t) => {
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
  t.throws(
    () => findProgram('app', folder, '/nowhere'),
    /program app not found in PATH \(\/nowhere\)/,
  )
  for (const name of ['./text', './bin', './gone'])
    t.throws(() => findProgram(name, folder, folder), /is not an executable file/)
  t.throws(() => findProgram('', folder, folder), /the command is empty/)
})

t.test('a script that the system cannot execute fails with the reason', async (t) => {
  const folder = makeTempFolder(t, 'program')
  const write = (text: string) => {
    writeFileSync(join(folder, 'run.sh'), text)
    chmodSync(join(folder, 'run.sh'), 0o755)
    return () => findProgram('./run.sh', folder, '')
  }
  const lineEndings = /run\.sh has Windows line endings: its first line ends with CR/
  t.throws(write('#!/bin/sh\r\necho a\r\n'), lineEndings)
  t.throws(write('#!/usr/bin/env python3\r\n'), lineEndings)
  t.throws(write('#!/no/such/sh\n'), /needs the interpreter \/no\/such\/sh, which does not exist/)
  for (const text of ['#!/bin/sh\necho a\r\n', '#! /bin/sh -e', '#!', 'echo a\r\n'])
    t.doesNotThrow(write(text))
  t.doesNotThrow(() => findProgram('run.sh', '/', folder))
})
