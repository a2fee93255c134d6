import t from 'tap'
import {
  formatPath,
  isName,
  isPath,
  splitConfigPath,
} from '../../../../services/config/tree/path.ts'

t.test('splits a path at dots; the empty path has no names', async (t) => {
  for (const [path, names] of [
    ['', []],
    ['a', ['a']],
    ['helloworld.greeting.text', ['helloworld', 'greeting', 'text']],
    ['a-b.c_d.0.é.\u{1f600}.a b', ['a-b', 'c_d', '0', 'é', '\u{1f600}', 'a b']],
    ['toString.hasOwnProperty', ['toString', 'hasOwnProperty']],
  ] as const) {
    t.ok(isPath(path), path)
    t.strictSame(splitConfigPath(path), names)
    t.equal(formatPath(names), path)
  }
})

t.test('rejects paths that are ambiguous or reach into prototypes', async (t) => {
  for (const path of [
    '.',
    '.a',
    'a.',
    'a..b',
    '__proto__',
    'a.__proto__.b',
    'constructor',
    'a.prototype',
    'a\0b',
    'a\n',
    'a.\u007f',
    '\ud800',
  ])
    t.notOk(isPath(path), JSON.stringify(path))
})

t.test('limits paths to 32 names and 1024 bytes', async (t) => {
  t.ok(isPath(Array(32).fill('a').join('.')))
  t.notOk(isPath(Array(33).fill('a').join('.')))
  t.ok(isPath('a'.repeat(1024)))
  t.notOk(isPath('a'.repeat(1025)))
  t.notOk(isPath('é'.repeat(513)))
})

t.test('rejects names with dots', async (t) => {
  t.ok(isName('a'))
  for (const name of ['', 'a.b', '__proto__', 'constructor', 'prototype', '\n'])
    t.notOk(isName(name), JSON.stringify(name))
})
