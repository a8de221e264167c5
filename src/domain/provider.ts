/**
 * Execution providers of onnxruntime that a config may name. Which of them a machine has is another matter:
 * `agentrl-lab devices` tells.
 */
export const PROVIDERS = ['cpu', 'cuda', 'webgpu', 'tensorrt', 'coreml', 'dml'] as const;
export type Provider = (typeof PROVIDERS)[number];
