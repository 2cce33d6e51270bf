"""Small models of the package transformers with random weights, for tests of programs written elsewhere and for bench/torch: two layers,
32 wide unless said otherwise.

Their dropout is on in training as their configurations have it, so that draws are compared, too.
"""

import torch

VOCABULARY = 99
MODELS = ("GPT-2", "Llama", "BERT", "ViT", "T5", "Whisper", "ResNet", "ConvNeXt", "Mamba")
TAKE_MASKS = ("GPT-2", "Llama", "BERT", "T5", "Whisper", "Mamba")
CASES = [(name, masked) for name in MODELS for masked in ((False, True) if name in TAKE_MASKS else (False,))]


def make_model(name: str, width: int = 32) -> torch.nn.Module:
    """The model in training mode; the same weights each time. `width`: a multiple of 32."""
    import transformers as t

    torch.manual_seed(1)
    model = {
        "GPT-2": lambda: t.GPT2LMHeadModel(t.GPT2Config(n_layer=2, n_head=4, n_embd=width, n_positions=32, vocab_size=VOCABULARY, bos_token_id=0,
                                                        eos_token_id=0)),
        "Llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, hidden_size=width,
                                                          intermediate_size=2 * width, vocab_size=VOCABULARY, max_position_embeddings=32)),
        "BERT": lambda: t.BertForMaskedLM(t.BertConfig(num_hidden_layers=2, num_attention_heads=4, hidden_size=width, intermediate_size=2 * width,
                                                       vocab_size=VOCABULARY, max_position_embeddings=32)),
        "ViT": lambda: t.ViTForImageClassification(t.ViTConfig(num_hidden_layers=2, num_attention_heads=4, hidden_size=width, intermediate_size=2 * width,
                                                               image_size=16, patch_size=4, num_labels=5)),
        "T5": lambda: t.T5ForConditionalGeneration(t.T5Config(num_layers=2, num_heads=4, d_model=width, d_kv=width // 4, d_ff=2 * width, vocab_size=VOCABULARY,
                                                              decoder_start_token_id=0)),
        "Whisper": lambda: t.WhisperForConditionalGeneration(t.WhisperConfig(
            encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, d_model=width, encoder_ffn_dim=2 * width,
            decoder_ffn_dim=2 * width, vocab_size=VOCABULARY, num_mel_bins=8, max_source_positions=12, max_target_positions=32, pad_token_id=0,
            bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, begin_suppress_tokens=None, suppress_tokens=None)),
        "ResNet": lambda: t.ResNetForImageClassification(t.ResNetConfig(embedding_size=width // 4, hidden_sizes=[width // 4, width // 2], depths=[1, 1], layer_type="basic",
                                                                        num_labels=5)),
        "ConvNeXt": lambda: t.ConvNextForImageClassification(t.ConvNextConfig(num_stages=2, hidden_sizes=[width // 2, width], depths=[1, 1], image_size=32,
                                                                              num_labels=5)),
        "Mamba": lambda: t.MambaForCausalLM(t.MambaConfig(num_hidden_layers=2, hidden_size=width, state_size=8, vocab_size=VOCABULARY)),
    }[name]()
    return model.train()


def make_batch(name: str, masked: bool, seed: int = 0, size: int = 2, length: int = 8) -> dict:
    """What the model is called with, labels included."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, VOCABULARY, (size, length), generator=g)
    mask = torch.ones_like(ids)
    mask[0, length - 2 :] = 0
    masks = {"attention_mask": mask} if masked else {}
    if name == "Whisper":
        features = {"input_features": torch.randn(size, 8, 24, generator=g), "labels": ids}
        return {**features, **({"decoder_attention_mask": mask} if masked else {})}
    if name in ("ViT", "ResNet", "ConvNeXt"):
        side = 16 if name == "ViT" else 32
        return {"pixel_values": torch.randn(size, 3, side, side, generator=g), "labels": torch.randint(0, 5, (size,), generator=g)}
    return {"input_ids": ids, "labels": ids.roll(1, 1), **masks}
