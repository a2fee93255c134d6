import type { PluginLog } from '../../../core/plugin/define.ts'

/** Log of the runtime for operators. */
export type RuntimeLog = Pick<PluginLog, 'info' | 'warn'>
