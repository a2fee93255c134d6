import { dirname, join } from 'node:path'
import t from 'tap'
import {
  formatPackage,
  formatPackageHint,
  toCamelCase,
  toPackageRange,
  toPascalCase,
} from '../../../cli/scaffold/template.ts'
import { ROOT } from '../../../scripts/root.ts'

t.test('converts names with dashes to PascalCase and camelCase', (t) => {
  t.equal(toPascalCase('mail-box-2'), 'MailBox2')
  t.equal(toCamelCase('mail-box-2'), 'mailBox2')
  t.equal(toCamelCase('mail'), 'mail')
  t.end()
})

t.test('package.json is private and includes the packages for types', (t) => {
  t.match(JSON.parse(formatPackage('mail', { scripts: { check: 'tsc' } })), {
    ...{ name: 'mail', private: true, type: 'module', scripts: { check: 'tsc' } },
    devDependencies: { 'mx-gateway': `file:${ROOT}`, typescript: String, tsx: String },
  })
  t.end()
})

t.test('a project depends on the installed version, or on the folder of a checkout', (t) => {
  const file = join(t.testdir({ 'package.json': '{"version":"1.2.3"}' }), 'package.json')
  t.equal(toPackageRange(file), '^1.2.3')
  t.equal(toPackageRange(join(ROOT, 'package.json')), `file:${ROOT}`)
  t.match(formatPackageHint(file), `npm install --save-dev ${dirname(file)}\n`)
  t.equal(formatPackageHint(join(ROOT, 'package.json')), '')
  t.end()
})
