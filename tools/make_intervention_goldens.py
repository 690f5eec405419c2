#!/usr/bin/env python3
"""Write the goldens of interventions and studies, computed by TransformerLens on tests/data/hf-tiny/gpt2 and by
captum on tests/data/hf-tiny/bert-classifier.

    python tools/make_intervention_goldens.py tests/data/hf-tiny tests/data/interventions

Writes gpt2.safetensors and bert.safetensors. Needs torch, transformers, safetensors, transformer-lens (before version
4), captum.
"""
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import AutoModelForSequenceClassification, GPT2LMHeadModel

torch.manual_seed(0)
torch.set_num_threads(1)


def lens_model(folder: Path):
    from transformer_lens import HookedTransformer, HookedTransformerConfig
    from transformer_lens.pretrained.weight_conversions import convert_gpt2_weights

    source = GPT2LMHeadModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    c = source.config
    config = HookedTransformerConfig(
        n_layers=c.n_layer, d_model=c.n_embd, n_ctx=c.n_positions, d_head=c.n_embd // c.n_head, n_heads=c.n_head,
        d_mlp=4 * c.n_embd, d_vocab=c.vocab_size, act_fn="gelu_new", normalization_type="LN",
        eps=c.layer_norm_epsilon, device="cpu")
    state = convert_gpt2_weights(source, config)
    model = HookedTransformer(config)
    model.load_state_dict(state, strict=False)
    ids = torch.arange(10).unsqueeze(0) + 3
    with torch.no_grad():
        error = (model(ids) - source(ids).logits).abs().max().item()
    assert error < 1e-4, error
    return model, source, config, state


def head_hook(layer, head, change):
    """Change z [batch, position, head, feature] of one head."""
    def hook(z, hook):
        z = z.clone()
        z[:, :, head] = change(z[:, :, head])
        return z
    return (f"blocks.{layer}.attn.hook_z", hook)


def pattern_hook(layer, head, change):
    """Change the pattern [batch, head, query, key] of one head."""
    def hook(pattern, hook):
        pattern = pattern.clone()
        pattern[:, head] = change(pattern[:, head])
        return pattern
    return (f"blocks.{layer}.attn.hook_pattern", hook)


def gpt2(folder: Path, out: Path):
    from transformer_lens import HookedTransformer
    model, source, config, state = lens_model(folder)
    out_tensors = {}
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, config.d_vocab, (1, 12), generator=generator)
    other = torch.randint(3, config.d_vocab, (1, 12), generator=generator)
    sentences = torch.randint(3, config.d_vocab, (4, 16), generator=generator)
    vector = torch.randn(config.d_model, generator=generator)
    out_tensors.update(ids=ids, other=other, sentences=sentences, vector=vector)
    with torch.no_grad():
        logits, cache = model.run_with_cache(ids)
        other_logits, other_cache = model.run_with_cache(other)

        def run(*hooks):
            return model.run_with_hooks(ids, fwd_hooks=list(hooks))[0]

        n = ids.shape[1]
        causal = torch.tril(torch.ones(n, n))
        neurons = torch.tensor([3, 8, 9, 10, 11])

        def zero_neurons(x, hook):
            x = x.clone()
            x[:, :, neurons] = 0
            return x

        def patch_residual(x, hook):
            x = x.clone()
            x[:, 3] = other_cache["resid_post", 1][:, 3]
            return x

        mean = other_cache["z", 0][0, :, 1].mean(0)
        cases = {
            "none": run(),
            "zero decoder.1.2": run(head_hook(1, 2, torch.zeros_like)),
            "mean decoder.0.1": run(head_hook(0, 1, lambda z: mean.expand_as(z))),
            "zero decoder.2.feed_forward.inner[3,8-11]": run(("blocks.2.mlp.hook_post", zero_neurons)),
            "zero decoder.1": run(("blocks.1.hook_attn_out", lambda x, hook: torch.zeros_like(x)),
                                  ("blocks.1.hook_mlp_out", lambda x, hook: torch.zeros_like(x))),
            "uniform decoder.0.3": run(pattern_hook(0, 3, lambda p: (causal / causal.sum(1, True)).expand_as(p))),
            "scale decoder.2.0": run(pattern_hook(2, 0, lambda p: 0.25 * p)),
            "replace decoder.1.1": run(pattern_hook(1, 1, lambda p: other_cache["pattern", 1][:, 1])),
            "patch decoder.1.residual": run(("blocks.1.hook_resid_post", patch_residual)),
            "add decoder.0.residual": run(("blocks.0.hook_resid_post", lambda x, hook: x + 1.5 * vector)),
        }
        for name, value in cases.items():
            out_tensors["logits." + name] = value

        # Head sweep: the mean loss of four sentences with each head's output at zero.
        out_tensors["sweep.loss"] = model(sentences, return_type="loss").reshape(1)
        sweep = torch.zeros(config.n_layers, config.n_heads)
        for layer in range(config.n_layers):
            for head in range(config.n_heads):
                sweep[layer, head] = model.run_with_hooks(
                    sentences, return_type="loss", fwd_hooks=[head_hook(layer, head, torch.zeros_like)])
        out_tensors["sweep.heads"] = sweep

        # Activation patching: `ids` is the clean run, `other` the corrupted one.
        answer, instead = int(logits[0, -1].argmax()), int(other_logits[0, -1].argmax())
        assert answer != instead
        out_tensors["answer"] = torch.tensor([answer, instead])

        def difference(x):
            return (x[0, -1, answer] - x[0, -1, instead]).item()

        def patched(*hooks):
            return difference(model.run_with_hooks(other, fwd_hooks=list(hooks)))

        def put(name, value):
            return (name, lambda x, hook: value)

        frozen = []  # keep later components at their corrupted values, in order of computation
        for layer in range(config.n_layers):
            frozen.append((2 * layer, put(f"blocks.{layer}.attn.hook_z", other_cache["z", layer])))
            frozen.append((2 * layer + 1, put(f"blocks.{layer}.hook_mlp_out", other_cache["mlp_out", layer])))
        heads = torch.zeros(2, config.n_layers, config.n_heads)
        mlps = torch.zeros(2, config.n_layers)
        residual = torch.zeros(config.n_layers, n)
        for layer in range(config.n_layers):
            for direct in (0, 1):
                later = [hook for place, hook in frozen if direct and place > 2 * layer]
                for head in range(config.n_heads):
                    heads[direct, layer, head] = patched(
                        head_hook(layer, head, lambda z: cache["z", layer][:, :, head]), *later)
                later = [hook for place, hook in frozen if direct and place > 2 * layer + 1]
                mlps[direct, layer] = patched(put(f"blocks.{layer}.hook_mlp_out", cache["mlp_out", layer]), *later)
            for position in range(n):
                def at_position(x, hook):
                    x = x.clone()
                    x[:, position] = cache["resid_post", layer][:, position]
                    return x
                residual[layer, position] = patched((f"blocks.{layer}.hook_resid_post", at_position))
        out_tensors["patch.clean"] = torch.tensor([difference(logits)])
        out_tensors["patch.corrupted"] = torch.tensor([difference(other_logits)])
        out_tensors["patch.heads"], out_tensors["patch.feed_forward"] = heads, mlps
        out_tensors["patch.residual"] = residual

        # Logit lens: probabilities of the last token's best guess after the embedding and each layer.
        stream = torch.stack([cache["resid_pre", 0]] + [cache["resid_post", i] for i in range(config.n_layers)])
        lens = model.unembed(model.ln_final(stream[:, 0])).softmax(-1)  # [layers + 1, position, vocabulary]
        out_tensors["lens.probability"], out_tensors["lens.best"] = lens.max(-1).values, lens.argmax(-1)

        # Direct logit attribution, with the final norm folded into the unembedding.
        folded = HookedTransformer(config)
        folded.load_and_process_state_dict(dict(state), fold_ln=True, center_writing_weights=False,
                                           center_unembed=False, fold_value_biases=False)
        folded.set_use_attn_result(True)
        folded_logits, folded_cache = folded.run_with_cache(ids)
        assert (folded_logits - logits).abs().max() < 1e-4
        direction = folded.W_U[:, answer] - folded.W_U[:, instead]

        def ln(components):
            scale = folded_cache["ln_final.hook_scale"][0, -1]
            return (components - components.mean(-1, keepdim=True)) / scale @ direction

        results = torch.stack([folded_cache["result", i][0, -1] for i in range(config.n_layers)])
        out_tensors["direct.heads"] = ln(results)
        out_tensors["direct.feed_forward"] = ln(torch.stack([folded_cache["mlp_out", i][0, -1]
                                                             for i in range(config.n_layers)]))
        out_tensors["direct.embedding"] = ln(folded_cache["resid_pre", 0][0, -1].unsqueeze(0))
        out_tensors["direct.bias"] = ln(torch.stack([folded.b_O[i] for i in range(config.n_layers)]))
        stack = folded_cache.apply_ln_to_stack(results.reshape(-1, 1, config.d_model), layer=-1, pos_slice=-1)
        assert torch.allclose(stack.reshape(results.shape) @ direction, out_tensors["direct.heads"], atol=1e-4)
    save_file({k: v.contiguous().clone() for k, v in out_tensors.items()}, out / "gpt2.safetensors")


def bert(folder: Path, out: Path):
    from captum.attr import LayerGradientXActivation, LayerIntegratedGradients
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(3, model.config.vocab_size, (1, 11), generator=generator)
    baseline = torch.zeros_like(ids)

    def forward(x):
        return model(input_ids=x).logits

    layer = model.bert.embeddings
    target = int(forward(ids).argmax())
    integrated, delta = LayerIntegratedGradients(forward, layer).attribute(
        ids, baselines=baseline, target=target, n_steps=20, return_convergence_delta=True)
    product = LayerGradientXActivation(forward, layer).attribute(ids, target=target)
    save_file({
        "ids": ids, "target": torch.tensor([target]), "baseline": layer(baseline)[0].detach(),
        "logits": forward(ids)[0].detach(), "integrated": integrated[0].sum(-1).detach(),
        "gradient_input": product[0].sum(-1).detach(), "delta": delta.float(),
    }, out / "bert.safetensors")


def main():
    models, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    bert(models / "bert-classifier", out)
    gpt2(models / "gpt2", out)


if __name__ == "__main__":
    main()
