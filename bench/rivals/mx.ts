import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Rival, ROOT, type Site } from './rival.ts'

const MAIN = join(ROOT, 'dist/cli/main.js')

/** This gateway, as built in `dist/`, with its default plugins and every check switched on. */
export const mx: Rival = {
  name: 'mx',
  title: '**mx**',
  version: () =>
    existsSync(MAIN)
      ? JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version
      : undefined,
  serves: () => true,
  prepare: (site) => [
    process.execPath,
    MAIN,
    'api',
    '--handler=proxy',
    '--config',
    writeConfig(site),
  ],
}

function writeConfig(site: Site): string {
  const { folder, port, backendPort, tls, pipeline, workers, accessLog } = site
  const lines = [
    `address: 127.0.0.1:${port}`,
    `workers: ${workers}`,
    'log_level: warn',
    `access_log: ${accessLog ? join(folder, 'access.log') : 'off'}`,
    ...(tls === undefined
      ? []
      : ['enable_tls: true', `tls_cert_file: ${tls.certFile}`, `tls_key_file: ${tls.keyFile}`]),
    'services:',
    '  bench:',
    `    nodes: ["127.0.0.1:${backendPort}${pipeline > 1 ? `;pipeline=${pipeline}` : ''}"]`,
  ]
  const file = join(folder, 'mx.yaml')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}
