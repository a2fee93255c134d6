import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  findPackageFolder,
  formatPackage,
  toCamelCase,
  toPascalCase,
} from '../../../cli/scaffold/template.ts'

t.test('a name with dashes is one of a type, or of a value', (t) => {
  t.equal(toPascalCase('mail-box-2'), 'MailBox2')
  t.equal(toCamelCase('mail-box-2'), 'mailBox2')
  t.equal(toCamelCase('mail'), 'mail')
  t.end()
})

t.test('a package.json that nobody publishes, with what types need', (t) => {
  t.match(JSON.parse(formatPackage('mail', { scripts: { check: 'tsc' } })), {
    ...{ name: 'mail', private: true, type: 'module', scripts: { check: 'tsc' } },
    devDependencies: { typescript: String, tsx: String, '@types/node': String },
  })
  t.end()
})

t.test('the folder of the package mx is the one that runs', (t) => {
  t.ok(existsSync(join(findPackageFolder(), 'package.json')))
  t.end()
})
