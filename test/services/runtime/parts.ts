import type { RunOptions } from '../../../services/runtime/messages.ts'
import type { Revision, ServiceRecord } from '../../../services/runtime/state/records.ts'

/** The default options. */
export const NO_OPTIONS: RunOptions = {
  namespace: '',
  command: [],
  args: [],
  env: [],
  secrets: {},
  type: '',
  image: '',
  entrypoint: '',
  volumes: {},
  instances: 0,
  force: false,
  protocol: '',
  port: 0,
  memory: 0,
  cpus: 0,
  allow_scripts: false,
  credentials: '',
}

/** A finished build. */
export function makeRevision(id = 'one', overrides: Partial<Revision> = {}): Revision {
  return {
    ...{ id, build: id, commit: '', env: {}, secrets: '', instances: 1, resources: {} },
    ...{ protocol: 'mx', port: 0 },
    program: { kind: 'process', folder: '/builds/one', command: ['node', 'main.js'] },
    ...overrides,
  }
}

/** A runtime object that was just requested. */
export function makeRecord(overrides: Partial<ServiceRecord> = {}): ServiceRecord {
  return {
    ...{ namespace: 'mx', name: 'helloworld', version: 'latest', type: '' },
    ...{ source: 'source://helloworld:latest', metadata: {}, owner: 'admin', group: 'mx' },
    ...{ server: 'one', settled: '', status: 'pending', startedMs: 0, retries: 0, changedMs: 0 },
    ...{ secret: '', deleting: false },
    asked: { id: 'one', kind: 'build', upload: '' },
    wish: {
      ...{ command: [], args: [], env: {}, secrets: '', credentials: '', image: '' },
      ...{ entrypoint: '', instances: 0, protocol: '', port: 0, memory: 0, cpus: 0 },
      allowScripts: false,
    },
    ...overrides,
  }
}
