import type { PluginLog } from '../../../core/plugin/define.ts'

/** Where the runtime tells operators what they should know. */
export type RuntimeLog = Pick<PluginLog, 'info' | 'warn'>
